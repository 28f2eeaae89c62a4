import Foundation
import NIOCore
import PushModel

/// A gateway with its files, its sink and its audience: the setting of a benchmark.
final class GatewayBench {
    let scratch: Scratch
    /// What answers the pushes of each platform.
    let sinks: [Platform: HeraldSink]
    /// That of the first platform.
    let sink: HeraldSink
    let files: GatewayFiles
    let options: GatewayOptions
    private let nodes: Int
    /// Registration tokens for single sends.
    let tokens: [String]
    /// What has the store, if it is no file.
    let database: PostgreSQLServer?
    private let key: String
    /// The gateways that share the store; mostly one.
    private(set) var processes: [GatewayProcess] = []
    /// Asks the first one.
    private(set) var client: GatewayClient

    /// The first gateway.
    var process: GatewayProcess { processes[0] }

    /// How it is set up.
    struct Setup {
        var sizes: [Int]
        /// At least one.
        var platforms: [Platform] = [.apple]
        var connections = 4
        var threads = 1
        var delay = Duration.zero
        var isEncrypted = false
        /// `nil`: nothing is traced.
        var tracing: GatewayFiles.Tracing?
        /// Whether webhooks may go to this machine.
        var allowsReceivers = false
        var store = StoreKind.sqlite
        /// Gateways that share the store.
        var nodes = 1
    }

    /// The longest that one broadcast may take.
    static let broadcastLimit = Duration.seconds(1800)

    /// Seeds a store and starts sink and gateway.
    init(_ setup: Setup, _ options: GatewayOptions) async throws {
        self.options = options
        let scratch = try Scratch()
        self.scratch = scratch
        sinks = try setup.platforms.reduce(into: [:]) { sinks, platform in
            sinks[platform] = try PlatformApp.sink(of: platform, scratch, cores: options.sinkCores, delay: setup.delay)
        }
        sink = sinks[setup.platforms[0]]!
        let apps = setup.platforms.map { [sinks] platform in PlatformApp(platform, sinkPort: sinks[platform]!.port) }
        nodes = setup.nodes
        database =
            try setup.store == .postgresql
            ? PostgreSQLServer(in: options.directory, cores: options.senderCores) : nil
        files = try GatewayFiles(
            GatewayFiles.Setup(
                apps: apps, connections: setup.connections, threads: setup.threads, isEncrypted: setup.isEncrypted,
                database: database?.url, allowsReceivers: setup.allowsReceivers, tracing: setup.tracing),
            scratch: scratch, in: options.directory)
        tokens = try await Audience.make(setup.sizes, of: apps, in: files.data)
        try files.moveStore()
        key = try files.makeAPIKey()
        client = GatewayClient(address: "", key: key)
        try await start()
    }

    /// Starts the gateways again after ``stop()`` or kills.
    func start() async throws {
        processes.removeAll()
        for node in 0..<nodes {
            processes.append(try await GatewayProcess(files, cores: options.senderCores, node: node))
        }
        client = GatewayClient(address: process.address, key: key)
    }

    /// Ends all gateways in order.
    func stop() throws {
        for process in processes { try process.stop() }
    }

    /// What gateways and database have used of the processor so far.
    func processorTimes() throws -> (gateways: Duration, database: Duration) {
        (try usage().processor, try database?.processorTime() ?? .zero)
    }

    /// What the gateways have used of the processor so far, and written.
    private func usage() throws -> (processor: Duration, bytesWritten: Int) {
        try processes.reduce((.zero, 0)) { sum, process in
            let usage = try ProcessUsage(of: process.id)
            return (sum.processor + usage.processor, sum.bytesWritten + usage.bytesWritten)
        }
    }

    /// Lets each device token be accepted once, so that none is a suspect any more, and starts the gateway again: a
    /// new process gives all connections to the proven ones at once instead of five minutes later.
    ///
    /// - Returns: that broadcast, and how long the body of a push was, in bytes.
    func prove(_ size: Int) async throws -> (first: Broadcast, bodyBytes: Int) {
        let first = try await broadcast(to: size)
        try stop()
        try await start()
        return (first, first.bodyBytes)
    }

    /// One broadcast to so many devices of each platform, or of one alone, from accept to the last settlement.
    ///
    /// - Returns: what it took, with the times of the platform's sink, or else of the first one's.
    func broadcast(to size: Int, on platform: Platform? = nil) async throws -> Broadcast {
        let reached = platform.map { sinks[$0].map { [$0] } ?? [] } ?? Array(sinks.values)
        let sink = platform.flatMap { sinks[$0] } ?? sink
        let pushes = size * reached.count
        for sink in sinks.values { _ = try await sink.takeReport() }
        for process in processes { try ProcessUsage.resetPeak(of: process.id) }
        let (before, databaseBefore) = (try usage(), try database?.processorTime() ?? .zero)
        let begin = NIODeadline.now().uptimeNanoseconds
        let name = try await client.send(BroadcastMessage.text(to: Audience.topic(of: size, on: platform)))
        let accepted = NIODeadline.now().uptimeNanoseconds
        let report = try await client.completion(of: name, within: Self.broadcastLimit)
        let (after, databaseAfter) = (try usage(), try database?.processorTime() ?? .zero)
        let seen = try await sink.takeReport()
        guard report.ledger.accepted == pushes, report.ledger.inFlight == 0, seen.pushes >= size else {
            throw BenchFailure(
                "of \(pushes) pushes \(report.ledger.accepted) were accepted, and the sink saw \(seen.pushes)")
        }
        return Broadcast(
            devices: pushes, seconds: try report.seconds,
            secondsToLastPush: Double(seen.lastTime - accepted) / 1e9,
            millisecondsToFirstPush: (Double(seen.firstTime) - Double(begin)) / 1e6,
            microsecondsPerPush: (after.processor - before.processor).seconds * 1e6 / Double(pushes),
            bytesWrittenPerPush: Double(after.bytesWritten - before.bytesWritten) / Double(pushes),
            peakMiB: Double(processes.map { ProcessUsage.peakBytes(of: $0.id) }.max() ?? 0) / 1_048_576,
            repeats: seen.pushes - size, bodyBytes: seen.dataBytes / max(1, seen.pushes),
            databaseMicrosecondsPerPush: (databaseAfter - databaseBefore).seconds * 1e6 / Double(pushes))
    }
}

/// What one broadcast took.
struct Broadcast: Codable {
    let devices: Int
    /// From accept to the last settlement, by the gateway's report.
    let seconds: Double
    /// From the answer to the sender until the last push was at the sink.
    let secondsToLastPush: Double
    /// From the request until the first push was at the sink.
    let millisecondsToFirstPush: Double
    /// User and system time of the gateway's process, or of all that share the store.
    let microsecondsPerPush: Double
    let bytesWrittenPerPush: Double
    /// The most memory resident during the broadcast, of one gateway.
    let peakMiB: Double
    /// Pushes that came more than once.
    let repeats: Int
    /// Of a push.
    let bodyBytes: Int
    /// User and system time of the processes of a database server; 0 without one.
    var databaseMicrosecondsPerPush = 0.0

    var pushesPerSecond: Double { Double(devices) / seconds }
}

/// The message that is broadcast: an alert of everyday life, as in ``Push/body``.
enum BroadcastMessage {
    /// The request.
    static func text(to topic: String) -> String {
        #"{"message":{"topic":"\#(topic)","notification":{"title":"Breaking news","body":"Something happened just now"},"#
            + #""data":{"id":"12345"}}}"#
    }
}
