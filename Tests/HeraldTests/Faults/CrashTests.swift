import Foundation
import Simulators
import TestSupport
import Testing

/// The promise of a 200: whatever kills the gateway, and however often, the message reaches every recipient.
///
/// `HERALD_CRASH_SEED` repeats a run, `HERALD_CRASH_KILLS` makes it longer.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)))
struct CrashTests {
    private static let deviceCount = 300
    private static let inFlight = 100

    /// What APNs says to the pushes of one device.
    private enum Behaviour {
        case good, bad, ended, busy, unavailable

        init(_ index: Int) {
            self =
                switch index % 30 {
                case 3: .bad
                case 7: .ended
                case 11: .busy
                case 17, 23: .unavailable
                default: .good
                }
        }
    }

    @Test func nothingAcceptedIsLostByKillsAtRandomInstants() async throws {
        let seed = testSetting("HERALD_CRASH_SEED", .random(in: 1...999_999))
        let kills = Int(testSetting("HERALD_CRASH_KILLS", 20))
        print("crash: seed \(seed), \(kills) kills (HERALD_CRASH_SEED=\(seed) repeats it)")
        let settings = "limits:\n  pageSize: 50\n  inFlight: \(Self.inFlight)"
        try await GatewayUnderTest.with(settings: settings, recordingLimit: 10_000_000) { test in
            let run = try await Self.run(test, kills: kills, random: SeededRandom(seed: seed))
            let process = try await test.start()
            let books = try await DeliveryRecords.whenComplete(process, test.keys)
            let findings = CrashFindings(run, books, inFlightLimit: Self.inFlight)
            print("crash: \(findings.summary)")
            #expect(findings.problems.isEmpty, "seed \(seed): \(findings.problems.prefix(20))")
            // A run in which nothing happened proves nothing.
            #expect(findings.accepted >= kills * 5 && findings.broadcasts >= kills / 2)
            #expect(findings.refused > 0)
            let recount = try await GatewayProcess.run(["doctor", "--ledger", "--config", test.configuration])
            #expect(recount.status == 0, "\(recount.lines)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// What a run leaves to be compared.
    struct Run: Sendable {
        var sent: [String: CrashLoad.Sent]
        /// The number of the simulator's last connection when each gateway but the first was started.
        var lastConnections: [Int] { starts.map(\.lastConnection) }
        /// Every start but the first.
        var starts: [Start]
        /// The device tokens that must get every broadcast to a topic or condition.
        var mustGet: [CrashLoad.Kind: Set<String>]
        let simulator: SimulatedAPNS

        /// Whether a gateway was killed between two pushes. What it wrote last may be read some time after.
        func isKill(between first: RecordedPush, and second: RecordedPush) -> Bool {
            first.connection != second.connection
                && starts.contains { first.time <= $0.time + 2000 && $0.time <= second.time }
        }

        /// The gateway that sent a push, counted from 0: by its connection, because what a killed gateway wrote may be
        /// read long after.
        func life(of push: RecordedPush) -> Int {
            lastConnections.firstIndex { push.connection <= $0 } ?? lastConnections.count
        }
    }

    /// A start of a gateway, after the end of the one before.
    struct Start: Sendable {
        var lastConnection: Int
        /// Milliseconds since 1970.
        var time: Int64
    }

    /// Waits until the simulator has read what a killed gateway left, for the greater part: it has no signal for that.
    private static func start(after simulator: SimulatedAPNS) async throws -> Start {
        var seen = (-1, -1)
        while seen != (simulator.statistics.connections, simulator.recording.count) {
            seen = (simulator.statistics.connections, simulator.recording.count)
            // What a killed process wrote comes until the sockets are empty; nothing tells when that is.
            try await Task.sleep(for: .milliseconds(30))
        }
        return Start(lastConnection: seen.0, time: milliseconds())
    }

    private static func run(_ test: GatewayUnderTest, kills: Int, random: SeededRandom) async throws -> Run {
        var random = random
        let devices = (0..<deviceCount).map { String(format: "%06x", $0) + String(repeating: "c4", count: 29) }
        for (index, device) in devices.enumerated() {
            test.simulator.rules.set(rule(of: Behaviour(index), index), for: device)
        }
        var starts: [Start] = []
        var process = try await test.start()
        let tokens = try await register(devices, process, test.keys)
        let load = CrashLoad(key: test.keys.sender, tokens: tokens)
        load.address.use(process.baseURL)
        let calls = random.part(0)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            // Also when a step fails: callers that wait for a gateway would wait for ever.
            defer { load.address.finish() }
            for caller in 0..<4 {
                tasks.addTask {
                    await load.run(caller, single, pause: 0...12, random: calls.part(UInt64(caller)))
                }
            }
            tasks.addTask { await load.run(4, broadcast, pause: 20...120, random: calls.part(4)) }
            tasks.addTask { await load.run(5, { _ in .wrong }, pause: 20...60, random: calls.part(5)) }
            var kill = 0
            // On a slow machine little is accepted between two kills: then there are more of them.
            while kill < kills || !load.hasAccepted(kills * 5, broadcasts: kills / 2) {
                // The instant of the kill: chance, not a wait.
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...450, using: &random)))
                load.address.use(nil)
                await process.end(with: SIGKILL)
                if kill % 4 == 3 { try await startAndKill(test, &starts, &random) }
                starts.append(try await start(after: test.simulator))
                process = try await test.start()
                load.address.use(process.baseURL)
                kill += 1
            }
            load.address.finish()
            try await tasks.waitForAll()
        }
        // The last one too, with everything that is under way.
        await process.end(with: SIGKILL)
        starts.append(try await start(after: test.simulator))
        try await load.shutdown()
        let good = Set(devices.indices.filter { [.good, .busy, .unavailable].contains(Behaviour($0)) })
        let some = good.filter { $0 % 3 == 0 }
        let mustGet: [CrashLoad.Kind: Set<String>] = [
            .topic("all"): Set(good.map { devices[$0] }), .topic("some"): Set(some.map { devices[$0] }),
            .condition: Set(good.subtracting(some).map { devices[$0] }),
        ]
        return Run(sent: load.sent, starts: starts, mustGet: mustGet, simulator: test.simulator)
    }

    /// A gateway that is killed while it starts, and another.
    private static func startAndKill(
        _ test: GatewayUnderTest, _ starts: inout [Start], _ random: inout SeededRandom
    ) async throws {
        starts.append(try await start(after: test.simulator))
        let process = try ChildProcess(
            try GatewayProcess.executable(), ["serve", "--config", test.configuration],
            environment: GatewayProcess.environment(with: [:]))
        // The instant of the kill: chance, not a wait.
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...250, using: &random)))
        process.signal(SIGKILL)
        _ = await process.status()
    }

    private static func milliseconds() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }

    private static func rule(of behaviour: Behaviour, _ index: Int) -> Rule {
        let delay = index % 4 == 0 ? 30 : 0
        return switch behaviour {
        case .good: Rule(.accept, delayMilliseconds: delay)
        case .bad: Rule(.reject(status: 400, reason: "BadDeviceToken"), delayMilliseconds: delay)
        // From the future: it ends the registration.
        case .ended: Rule(.unregistered(since: milliseconds() + 3_600_000))
        case .busy: Rule(.reject(status: 429, reason: "TooManyRequests"), times: 2)
        case .unavailable: Rule(.reject(status: 503, reason: "ServiceUnavailable"), delayMilliseconds: delay, times: 3)
        }
    }

    private static func single(_ random: inout SeededRandom) -> CrashLoad.Kind {
        .device(Int.random(in: 0..<deviceCount, using: &random))
    }

    private static func broadcast(_ random: inout SeededRandom) -> CrashLoad.Kind {
        [.topic("all"), .topic("some"), .condition].randomElement(using: &random) ?? .condition
    }

    /// Registers all devices, `all` being the topic of each and `some` that of every third.
    private static func register(
        _ devices: [String], _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [String] {
        let admin = APIClient(baseURL: process.baseURL, key: keys.admin)
        var tokens: [String] = []
        for start in stride(from: 0, to: devices.count, by: 100) {
            let list = devices[start..<min(start + 100, devices.count)].map { "\"\($0)\"" }.joined(separator: ",")
            let answer = try await admin.post(
                "/iid/v1:batchImport", #"{"application":"com.example.app","sandbox":false,"apns_tokens":[\#(list)]}"#)
            let results = try #require(try answer.json["results"] as? [[String: Any]], "\(answer.text)")
            tokens += results.compactMap { $0["registration_token"] as? String }
        }
        #expect(tokens.count == devices.count)
        for (topic, step) in [("all", 1), ("some", 3)] {
            let list = stride(from: 0, to: tokens.count, by: step).map { "\"\(tokens[$0])\"" }.joined(separator: ",")
            let answer = try await admin.post(
                "/iid/v1:batchAdd", #"{"to":"/topics/\#(topic)","registration_tokens":[\#(list)]}"#)
            let results = try #require(try answer.json["results"] as? [[String: Any]], "\(answer.text)")
            #expect(results.allSatisfy { $0.isEmpty })
        }
        return tokens
    }
}
