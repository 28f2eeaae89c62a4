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
    /// Registration tokens for single sends.
    let tokens: [String]
    private let key: String
    private(set) var process: GatewayProcess
    private(set) var client: GatewayClient

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
        files = try GatewayFiles(
            GatewayFiles.Setup(
                apps: apps, connections: setup.connections, threads: setup.threads, isEncrypted: setup.isEncrypted,
                allowsReceivers: setup.allowsReceivers, tracing: setup.tracing),
            scratch: scratch, in: options.directory)
        tokens = try await Audience.make(setup.sizes, of: apps, in: files.data)
        key = try files.makeAPIKey()
        process = try await GatewayProcess(files, cores: options.senderCores)
        client = GatewayClient(address: process.address, key: key)
    }

    /// Starts the gateway again after ``GatewayProcess/stop()`` or a kill.
    func start() async throws {
        process = try await GatewayProcess(files, cores: options.senderCores)
        client = GatewayClient(address: process.address, key: key)
    }

    /// Lets each device token be accepted once, so that none is a suspect any more, and starts the gateway again: a
    /// new process gives all connections to the proven ones at once instead of five minutes later.
    ///
    /// - Returns: that broadcast, and how long the body of a push was, in bytes.
    func prove(_ size: Int) async throws -> (first: Broadcast, bodyBytes: Int) {
        let first = try await broadcast(to: size)
        try process.stop()
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
        try ProcessUsage.resetPeak(of: process.id)
        let before = try ProcessUsage(of: process.id)
        let begin = NIODeadline.now().uptimeNanoseconds
        let name = try await client.send(BroadcastMessage.text(to: Audience.topic(of: size, on: platform)))
        let accepted = NIODeadline.now().uptimeNanoseconds
        let report = try await client.completion(of: name, within: Self.broadcastLimit)
        let after = try ProcessUsage(of: process.id)
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
            peakMiB: Double(ProcessUsage.peakBytes(of: process.id)) / 1_048_576,
            repeats: seen.pushes - size, bodyBytes: seen.dataBytes / max(1, seen.pushes))
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
    /// User and system time of the gateway's process.
    let microsecondsPerPush: Double
    let bytesWrittenPerPush: Double
    /// The most memory resident during the broadcast.
    let peakMiB: Double
    /// Pushes that came more than once.
    let repeats: Int
    /// Of a push.
    let bodyBytes: Int

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
