import Foundation
import Simulators
import Synchronization
import TestSupport
import Testing

/// What survives when the gateway is killed or stopped in the middle.
@Suite(.timeLimit(.minutes(5)))
struct InterruptionTests {
    @Test func everySendThatWasAnsweredReachesOneLedgerRowAfterAKill() async throws {
        try await GatewayUnderTest.with { test in
            var process = try await test.start()
            let tokens = try await Self.register(8, process, test.keys) { index, device in
                let rejection =
                    index.isMultiple(of: 2)
                    ? Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 3)
                    : Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1)
                if index < 6 { test.simulator.rules.set(rejection, for: device) }
            }
            let names = try await Self.sendUntilKilled(tokens, process, test.keys, killAfter: 120)
            #expect(names.count >= 120)
            #expect(Set(names).count == names.count)

            process = try await test.start()
            for name in names {
                let report = try await WholeGatewayTests.completeReport(name, process, test.keys)
                #expect(
                    try WholeGatewayTests.ledger(report) == [
                        "recipients": 1, "accepted": 1, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                    ])
            }
            let rows = try await Self.rowsByMessage(process, test.keys)
            let arrived = Set(test.simulator.recording.pushes.filter { $0.status == 200 }.map { $0.headers["apns-id"] })
            for name in names {
                let own = rows[String(name.split(separator: "/").last ?? "")] ?? []
                #expect(own.count == 1, "\(name)")
                #expect(own.first?["event"] as? String == "MESSAGE_ACCEPTED")
                #expect(arrived.contains(own.first?["apns_id"] as? String))
            }
            #expect(rows.values.allSatisfy { $0.count == 1 })
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func sendThatWasAnsweredAndNotDeliveredGoesOutAfterAKill() async throws {
        try await GatewayUnderTest.with { test in
            test.simulator.rules.setDefault(Rule(.neverAnswer))
            var process = try await test.start()
            let tokens = try await Self.register(5, process, test.keys)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            var names: [String] = []
            for token in tokens { names.append(try #require(try await Self.send(to: token, sender))) }
            await process.end(with: SIGKILL)

            test.simulator.rules.clear()
            process = try await test.start()
            for name in names {
                let report = try await WholeGatewayTests.completeReport(name, process, test.keys)
                #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            }
            let rows = try await Self.rowsByMessage(process, test.keys)
            #expect(rows.count == 5)
            #expect(rows.values.allSatisfy { $0.count == 1 })
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func termWhileAPNsCanNotBeReachedDoesNotWaitForTheDials() async throws {
        try await GatewayUnderTest.with { test in
            let silence = try SilentListener()
            let file = test.directory.file("projects/demo.yaml")
            let project = try String(contentsOfFile: file, encoding: .utf8)
            try project.replacing(/endpoint: .*/, with: "endpoint: 127.0.0.1:\(silence.port)")
                .write(toFile: file, atomically: true, encoding: .utf8)
            var process = try await test.start()
            let tokens = try await Self.register(5, process, test.keys)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            var names: [String] = []
            for token in tokens { names.append(try #require(try await Self.send(to: token, sender))) }
            let start = ContinuousClock.now
            #expect(await process.end(with: SIGTERM) == 0)
            // Far below the time limits of a dial (10 s) and of the shutdown (20 s), for a machine that is busy.
            #expect(start.duration(to: .now) < .seconds(8))

            try project.write(toFile: file, atomically: true, encoding: .utf8)
            process = try await test.start()
            for name in names {
                let report = try await WholeGatewayTests.completeReport(name, process, test.keys)
                #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            }
            #expect(test.simulator.recording.count == 5)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// The attack: a request that never comes to its end takes the time of the shutdown, and pushes go twice.
    @Test func termWithAHalfSentRequestWaitsForThePushesAndNotForIt() async throws {
        try await GatewayUnderTest.with(settings: "limits:\n  shutdownSeconds: 15") { test in
            test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 3000))
            var process = try await test.start()
            let tokens = try await Self.register(5, process, test.keys)
            let port = try #require(process.baseURL.split(separator: ":").last)
            let half = #"POST /v1/projects/demo/messages:send HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n"#
            let caller = try ChildProcess(
                "/bin/bash",
                [
                    "-c",
                    "exec 9<>/dev/tcp/127.0.0.1/\(port); printf '\(half)Authorization: Bearer \(test.keys.sender)"
                        + "\\r\\n\\r\\n12345' >&9; echo sent; cat <&9",
                ])
            #expect(await caller.output.first(containing: "sent") != nil)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            var names: [String] = []
            for token in tokens { names.append(try #require(try await Self.send(to: token, sender))) }
            await test.simulator.recording.wait(untilCount: 5)
            let start = ContinuousClock.now
            #expect(await process.end(with: SIGTERM) == 0)
            #expect(start.duration(to: .now) < .seconds(12))
            #expect(await caller.output.first(containing: "503 Service Unavailable") != nil)
            _ = await caller.status()

            test.simulator.rules.clear()
            process = try await test.start()
            for name in names {
                let report = try await WholeGatewayTests.completeReport(name, process, test.keys)
                #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            }
            #expect(test.simulator.recording.count == 5, "nothing came twice")
            let rows = try await Self.rowsByMessage(process, test.keys).values.flatMap { $0 }
            #expect(rows.count == 5)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func termWhileABroadcastRunsEndsWith0AndTheNextStartFinishesIt() async throws {
        let settings = "limits:\n  pageSize: 100\n  inFlight: 100\n  shutdownSeconds: 60"
        try await GatewayUnderTest.with(settings: settings) { test in
            var process = try await test.start()
            let devices = try await WholeGatewayTests.registerDevices(500, process, test.keys)
            try await WholeGatewayTests.pushOnce(process, test.keys)
            test.simulator.recording.clear()
            // Every other device is answered late: the pushes to a hundred of them fill the lane, so it stays in the middle.
            for device in devices.indices where device % 2 == 1 {
                test.simulator.rules.set(Rule(.accept, delayMilliseconds: 15_000), for: devices[device])
            }
            let message = try await WholeGatewayTests.broadcast(process, test.keys)
            await test.simulator.recording.wait(untilCount: 150)
            let start = ContinuousClock.now
            #expect(await process.end(with: SIGTERM) == 0)
            #expect(ContinuousClock.now - start < .seconds(50))
            #expect(test.simulator.recording.count < 500, "the stop has to come before the end")
            test.simulator.rules.clear()

            process = try await test.start()
            let report = try await WholeGatewayTests.completeReport(message, process, test.keys)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": 500, "accepted": 500, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ])
            // A stop in order settles what is in flight: nothing comes twice.
            #expect(test.simulator.recording.count == 500)
            #expect(Set(test.simulator.recording.pushes.map(\.deviceToken)) == Set(devices))
            let pushes = test.simulator.recording.pushes
            try await WholeGatewayTests.expectExportAgrees(message, pushes: pushes, process, test.keys)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func logOfAWholeRunHoldsNoSecret() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start(environment: ["HERALD_LOG_LEVEL": "trace"])
            let devices = try await WholeGatewayTests.registerDevices(10, process, test.keys)
            test.simulator.rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: devices[0])
            test.simulator.rules.set(
                Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), for: devices[1])
            let message = try await WholeGatewayTests.broadcast(process, test.keys)
            _ = try await WholeGatewayTests.completeReport(message, process, test.keys)

            // And the ways that fail, with their tokens, keys and payloads.
            let client = APIClient(baseURL: process.baseURL, key: test.keys.client)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let wrong = APIClient(baseURL: process.baseURL, key: test.keys.admin + "wrong")
            let token = try await client.register(deviceToken: "abcdef0123456789abcdef")
            #expect(try await wrong.get("/v1/\(message)").status >= 400)
            #expect(try await client.post("/v1/projects/demo/messages:send", WholeGatewayTests.sample).status == 403)
            #expect(try await sender.post("/v1/projects/demo/messages:send", "{\"great match!\":").status == 400)
            #expect(try await Self.send(to: token, sender) != nil)
            #expect(try await client.get("/v1/projects/demo/registrations/\(token)").status == 200)
            #expect(try await client.send("DELETE", "/v1/projects/demo/registrations/\(token)", nil).status == 200)
            #expect(try await Self.send(to: token, sender) == nil)
            #expect(await process.end(with: SIGTERM) == 0)

            let log = process.lines.joined(separator: "\n")
            #expect(log.contains(" debug "), "the level has to be in force")
            let keys = [test.keys.admin, test.keys.sender, test.keys.client].flatMap {
                [$0, String($0.split(separator: "_", maxSplits: 2).last ?? "?")]
            }
            let texts = ["Portugal", "great match!", "customValue", "abcdef0123456789abcdef", token]
            for secret in keys + devices + texts {
                #expect(!log.lowercased().contains(secret.lowercased()), "found in the log")
            }
        }
    }

    // MARK: Steps

    /// What the callers were answered.
    private final class Names: Sendable {
        private let names = Mutex<[String]>([])

        var all: [String] { names.withLock { $0 } }

        /// Adds one and gives how many there are.
        func add(_ name: String) -> Int {
            names.withLock { names in
                names.append(name)
                return names.count
            }
        }
    }

    private static func register(
        _ count: Int, _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys,
        each: (Int, String) -> Void = { _, _ in }
    ) async throws -> [String] {
        let client = APIClient(baseURL: process.baseURL, key: keys.client)
        var tokens: [String] = []
        for index in 0..<count {
            let device = String(format: "%04x", index) + String(repeating: "5e", count: 30)
            each(index, device)
            tokens.append(try await client.register(deviceToken: device))
        }
        return tokens
    }

    /// Sends to a token; the message's name when it was accepted.
    private static func send(to token: String, _ sender: APIClient) async throws -> String? {
        let answer = try await sender.post(
            "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","notification":{"title":"Portugal vs. Denmark"}}}"#)
        return answer.status == 200 ? try answer.json["name"] as? String : nil
    }

    /// One caller for each token sends without a pause; after `limit` answers the gateway is killed. Gives every name
    /// that a caller got.
    private static func sendUntilKilled(
        _ tokens: [String], _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys, killAfter limit: Int
    ) async throws -> [String] {
        let names = Names()
        let sender = APIClient(baseURL: process.baseURL, key: keys.sender)
        await withTaskGroup(of: Void.self) { callers in
            for token in tokens {
                callers.addTask {
                    while true {
                        do {
                            guard let name = try await send(to: token, sender) else { continue }
                            if names.add(name) == limit { process.signal(SIGKILL) }
                        } catch {
                            // Killed: this caller has no answer for its last message.
                            return
                        }
                    }
                }
            }
        }
        #expect(await process.end(with: SIGKILL) == -SIGKILL)
        return names.all
    }

    /// The rows of the export by their message.
    private static func rowsByMessage(
        _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [String: [[String: Any]]] {
        let export = try await APIClient(baseURL: process.baseURL, key: keys.sender).get(
            "/v1/projects/demo/export?startTime=2020-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&format=ndjson")
        let rows = try export.text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        return Dictionary(grouping: rows) { $0["message_id"] as? String ?? "" }
    }
}

/// Takes TCP connections, as far as the kernel does, and never says a word.
private final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        // Not for the gateway: a child has none of it.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isListening else { throw ChildProcessError("no listener: \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
