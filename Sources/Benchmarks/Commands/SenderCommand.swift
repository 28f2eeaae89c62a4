import APNS
import ArgumentParser
import FCMWire
import Foundation
import Logging
import PushModel
import Signing
import Synchronization
import Upstream

/// `herald-bench sender`: what reading answers, building requests and watching an upstream cost on top of the engine.
struct SenderCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "sender", abstract: "Compares the APNs sender with the bare HTTP/2 engine against the same sink.",
        discussion: """
            Runs of the two alternate, each in a process of its own on the same cores: the engine with one pool of four \
            connections on one thread, as an upstream has it, and the sender, which gets pushes as the delivery core \
            hands them over. The difference of their processor time per push is the sender's own.
            """)

    @Option(help: "Pairs of runs.") var rounds = 5
    @Option(help: "Pushes in a run.") var pushes = 400_000
    @Option(help: "Pushes handed over at a time.") var batch = 500
    @Option(help: "Cores of the senders, as taskset has it.") var senderCores = Cores.senders
    @Option(help: "Cores of the sink.") var sinkCores = Cores.sinks

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1000...2_000_000).contains(pushes) else { throw ValidationError("--pushes is 1000 to 2000000.") }
        guard (1...10_000).contains(batch) else { throw ValidationError("--batch is 1 to 10000.") }
    }

    private static let connections = 4
    private static let streams = 1000

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let scratch = try Scratch()
        let sink = try HeraldSink(scratch, cores: sinkCores, streams: Self.streams, threads: 2, delay: .zero)
        defer { sink.program.end() }
        let common = [
            "--port", String(sink.port), "--certificate", scratch.certificate, "--pushes", String(pushes), "--tokens",
            "20000", "--batch", String(batch),
        ]
        let own = try Program.own
        let engine =
            [
                own, "send-pushes", "--path-prefix", sink.pathPrefix, "--connections", String(Self.connections),
                "--threads", "1", "--streams", String(Self.streams),
            ] + common
        let sender = [own, "send-apns", "--key", scratch.key] + common
        var (engineCosts, senderCosts): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            // Who goes first takes turns.
            for isEngine in [round.isMultiple(of: 2), !round.isMultiple(of: 2)] {
                let cost = try Program.measured(isEngine ? engine : sender, cores: senderCores)
                let each = Double(cost.microseconds) / Double(pushes)
                if isEngine { engineCosts.append(each) } else { senderCosts.append(each) }
            }
        }
        let ratios = zip(senderCosts, engineCosts).map { $0 / $1 }
        let differences = zip(senderCosts, engineCosts).map { $0 - $1 }
        show("µs/push   engine \(Self.text(engineCosts))   sender \(Self.text(senderCosts))")
        show("ratio \(Self.text(ratios))   the sender's own \(Self.text(differences)) µs/push   (medians of pairs)")
    }

    private static func text(_ values: [Double]) -> String {
        String(format: "%.2f", values.sorted()[values.count / 2])
    }
}

/// The sender's side of the comparison, in a process of its own.
struct SendAPNSCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "send-apns", abstract: "Sends pushes to 127.0.0.1 through the APNs sender.", shouldDisplay: false)

    @Option var port: Int
    @Option var certificate: String
    @Option var key: String
    @Option var pushes: Int
    @Option var tokens: Int
    @Option var batch: Int

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let sender = APNSSender(
            loopCount: 1, wallTime: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        guard let project = ProjectID(rawValue: "bench"), let app = AppID(rawValue: "com.example.app"),
            let message = MessageID(rawValue: "0:1-a")
        else { throw BenchFailure("an id is not valid") }
        let pem = try String(contentsOf: URL(filePath: key), encoding: .utf8)
        try sender.use([
            APNSAppConfiguration(
                project: project, app: app, teamID: "TEAM123456", keyID: "ABC1234567",
                key: try ES256PrivateKey(pem: pem),
                endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: port)], trustFile: certificate)
        ])
        let content = ApplePush(
            payload: Array(Push.body.utf8), pushType: .alert, topic: app.rawValue, priority: .immediate,
            expiration: .until(Timestamp(seconds: 1_900_000_000)), collapseID: nil, id: nil, registrationIDOffset: nil)
        let route = PushRoute(project: project, app: app, channel: .apns(.production))
        let devices = (0..<tokens).compactMap { number in
            DeviceToken(bytes: (0..<32).map { UInt8(truncatingIfNeeded: (number &* 0x9e37_79b9) >> ($0 % 8 * 8)) })
        }
        let reports = Tally(expected: pushes)
        var sent = 0
        while sent < pushes {
            let batch = (sent..<min(sent + batch, pushes)).map { number in
                PushModel.Push(
                    route: route, lane: .bulk, address: .apple(devices[number % tokens], .production), isProven: true,
                    content: content,
                    payload: content.payload,
                    id: PushID(message: message, registration: RegistrationKey(rawValue: Int64(number))))
            }
            await sender.send(batch) { reports.note($0) }
            sent += batch.count
        }
        let accepted = await reports.accepted()
        await sender.shutdown(within: .seconds(5))
        guard accepted == pushes else { throw BenchFailure("\(pushes - accepted) pushes were not accepted") }
    }

    /// Counts reports.
    private final class Tally: Sendable {
        private struct Counts {
            var reported = 0
            var accepted = 0
            var waiter: CheckedContinuation<Int, Never>?
        }

        private let expected: Int
        private let state = Mutex(Counts())

        init(expected: Int) {
            self.expected = expected
        }

        func note(_ reports: [PushReport]) {
            let ready = state.withLock { state -> (CheckedContinuation<Int, Never>, Int)? in
                state.reported += reports.count
                for report in reports where report.outcome == .accepted { state.accepted += 1 }
                guard state.reported == expected, let waiter = state.waiter else { return nil }
                state.waiter = nil
                return (waiter, state.accepted)
            }
            if let (waiter, accepted) = ready { waiter.resume(returning: accepted) }
        }

        /// How many were accepted, once all are reported.
        func accepted() async -> Int {
            await withCheckedContinuation { continuation in
                let accepted: Int? = state.withLock { state in
                    if state.reported == expected { return state.accepted }
                    state.waiter = continuation
                    return nil
                }
                if let accepted { continuation.resume(returning: accepted) }
            }
        }
    }
}
