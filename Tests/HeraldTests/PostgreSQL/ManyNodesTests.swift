#if PostgreSQL
    import Foundation
    import Simulators
    import TestSupport
    import Testing

    /// Gateways as processes on one PostgreSQL database, against the simulator, over real sockets.
    @Suite(.timeLimit(.minutes(5)), .heavy, .serialized, .enabled(if: PostgreSQLServer.isInstalled))
    struct ManyNodesTests {
        private typealias Whole = WholeGatewayTests

        /// Runs `body` with a configuration of which any number of gateways may run.
        private static func with(
            _ server: PostgreSQLServer, limits: String = "", _ body: (GatewayUnderTest) async throws -> Void
        ) async throws {
            let database = try await server.makeDatabase()
            let settings = "store:\n  url: '\(database)'\n\(limits)"
            try await GatewayUnderTest.with(settings: settings, body)
        }

        /// Fails unless each of `devices` got the message with one `apns-id`, and all nodes say that the ledger has each of
        /// them once.
        ///
        /// - Parameter pushes: those of the message; without, all that arrived.
        static func expectAll(
            _ devices: [String], got message: String, _ nodes: [GatewayProcess], _ test: GatewayUnderTest,
            _ pushes: [RecordedPush]? = nil
        ) async throws {
            let pushes = pushes ?? test.simulator.recording.pushes
            #expect(Set(pushes.map(\.deviceToken)) == Set(devices))
            let ids = Dictionary(grouping: pushes, by: \.deviceToken).mapValues {
                Set($0.map { $0.headers["apns-id"] })
            }
            #expect(ids.values.allSatisfy { $0.count == 1 })
            for node in nodes {
                let report = try await Whole.completeReport(message, node, test.keys)
                #expect(
                    try Whole.ledger(report) == [
                        "recipients": devices.count, "accepted": devices.count, "rejected": 0, "expired": 0,
                        "cancelled": 0, "inFlight": 0,
                    ])
                try await Whole.expectExportAgrees(message, pushes: pushes, node, test.keys)
            }
        }

        @Test func threeNodesShareABroadcast() async throws {
            let limits = "limits:\n  pageSize: 20\n  inFlight: 40"
            try await Self.with(try await .shared(), limits: limits) { test in
                let nodes = [try await test.start(), try await test.start(), try await test.start()]
                let devices = try await Whole.registerDevices(600, nodes[0], test.keys)
                let message = try await Whole.broadcast(nodes[1], test.keys)
                _ = try await Whole.completeReport(message, nodes[2], test.keys)
                try await Self.expectAll(devices, got: message, nodes, test)

                // Each counts what it recorded itself; together they are all.
                var ended: [Int] = []
                for node in nodes { ended.append(try await Self.delivered(by: node)) }
                #expect(ended.reduce(0, +) == 600)
                #expect(ended.count { $0 > 0 } > 1, "\(ended)")

                let list = try await GatewayProcess.run(["node", "list", "--json", "--config", test.configuration])
                #expect(list.status == 0)
                #expect(list.lines.count { $0.contains(#""live":true"#) } == 3, "\(list.lines)")
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
                let left = try await GatewayProcess.run(["node", "list", "--json", "--config", test.configuration])
                #expect(left.lines.filter { !$0.isEmpty } == [])
            }
        }

        /// How many accepted deliveries a node recorded.
        private static func delivered(by node: GatewayProcess) async throws -> Int {
            let text = try await APIClient(baseURL: node.baseURL, key: "").get("/metrics").text
            return text.split(separator: "\n").reduce(0) { sum, line in
                guard line.hasPrefix("herald_deliveries_total{"), line.contains(#"outcome="accepted""#) else {
                    return sum
                }
                return sum + (line.split(separator: " ").last.flatMap { Int($0) } ?? 0)
            }
        }

        /// A message with a pace that one node accepted is paused and cancelled at another one: no recipient is lost or
        /// counted twice by that.
        @Test func whatOneNodeIsToldHoldsAtTheOther() async throws {
            try await Self.with(try await .shared()) { test in
                let nodes = [try await test.start(), try await test.start()]
                let devices = try await Whole.registerDevices(40, nodes[0], test.keys)
                let (first, second) = (
                    APIClient(baseURL: nodes[0].baseURL, key: test.keys.sender),
                    APIClient(baseURL: nodes[1].baseURL, key: test.keys.sender)
                )
                let sent = try await second.post(
                    "/v1/projects/demo/messages:send",
                    #"{"message":{"topic":"weather","notification":{"title":"Hi"}},"delivery":{"rate":1}}"#)
                let message = try #require(try sent.json["name"] as? String, "\(sent.text)")
                #expect(try await first.post("/v1/\(message):pause", "{}").status == 200)
                #expect(try await second.get("/v1/\(message)").json["state"] as? String == "PAUSED")
                #expect(try await second.post("/v1/\(message):resume", "{}").status == 200)
                #expect(try await first.post("/v1/\(message):cancel", "{}").status == 200)
                let ledger = try await Self.ledgerAtTheEnd(of: message, second)
                #expect(ledger["recipients"] == devices.count)
                #expect((ledger["accepted"] ?? 0) + (ledger["cancelled"] ?? 0) == devices.count)
                // At one a second, no more than a few left before.
                #expect((ledger["cancelled"] ?? 0) > devices.count / 2, "\(ledger)")
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
        }

        /// The ledger of a message that was cancelled, when nothing of it is open.
        private static func ledgerAtTheEnd(of message: String, _ api: APIClient) async throws -> [String: Int] {
            while true {
                let report = try await api.get("/v1/\(message)").json
                let ledger = try Whole.ledger(report)
                if report["state"] as? String == "CANCELLED", ledger["inFlight"] == 0, ledger["recipients"] == 40 {
                    return ledger
                }
                // The API has no signal for "complete": a report is asked for, as its readers do.
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// Each node is killed in the middle of one broadcast, and another one takes its place: nothing is lost, and what
        /// comes twice has the same id.
        @Test func theKillOfEachNodeInTurnLosesNothing() async throws {
            let limits = "limits:\n  pageSize: 20\n  inFlight: 60"
            try await Self.with(try await .shared(), limits: limits) { test in
                var nodes = [try await test.start(), try await test.start(), try await test.start()]
                let devices = try await Whole.registerDevices(600, nodes[0], test.keys)
                // Every third device gets no answer: pushes to twenty of each page's sixty stay in flight.
                for device in devices.indices where device % 3 == 0 {
                    test.simulator.rules.set(Rule(.neverAnswer), for: devices[device])
                }
                let message = try await Whole.broadcast(nodes[0], test.keys)
                for place in nodes.indices {
                    await test.simulator.recording.wait(untilCount: 30 * (place + 1))
                    await nodes[place].end(with: SIGKILL)
                    nodes[place] = try await test.start()
                }
                #expect(test.simulator.recording.count < 600, "the kills have to come before the end")
                test.simulator.rules.clear()
                _ = try await Whole.completeReport(message, nodes[0], test.keys)
                try await Self.expectAll(devices, got: message, nodes, test)
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
        }

        /// What a node that is told to stop has in flight another one sends as soon as it is given back, without waiting for the
        /// end of a lease.
        @Test func aNodeThatIsToldToStopHandsOverAtOnce() async throws {
            try await Self.with(try await .shared(), limits: "limits:\n  shutdownSeconds: 1") { test in
                let first = try await test.start()
                let admin = APIClient(baseURL: first.baseURL, key: test.keys.admin)
                let sender = APIClient(baseURL: first.baseURL, key: test.keys.sender)
                // One: of several that were never accepted few are in flight at a time.
                let device = String(format: "%064x", 4711)
                test.simulator.rules.set(Rule(.neverAnswer), for: device)
                let token = try await admin.register(deviceToken: device)
                let sent = try await sender.post(
                    "/v1/projects/demo/messages:send",
                    #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
                #expect(sent.status == 200, "\(sent.text)")
                await test.simulator.recording.wait(untilCount: 1)
                test.simulator.rules.clear()
                // Only now: it has not claimed it itself.
                let second = try await test.start()
                #expect(await first.end(with: SIGTERM) == 0)
                let ended = ContinuousClock.now
                await test.simulator.recording.wait(untilCount: 2)
                // Before a lease, which counts 30 seconds, is over, and before lanes look by themselves, once a minute.
                #expect(ContinuousClock.now - ended < .seconds(25))
                let pushes = test.simulator.recording.pushes
                #expect(pushes.map(\.deviceToken) == [device, device])
                #expect(Set(pushes.map { $0.headers["apns-id"] }).count == 1)
                #expect(await second.end(with: SIGTERM) == 0)
            }
        }

        /// A node that does nothing for longer than its lease sends nothing any more of what others took over.
        @Test func aNodeThatWasStoppedBeyondItsLeaseEnrolsAnew() async throws {
            let limits = "limits:\n  pageSize: 20\n  inFlight: 40"
            try await Self.with(try await .shared(), limits: limits) { test in
                let nodes = [try await test.start(), try await test.start()]
                let devices = try await Whole.registerDevices(300, nodes[0], test.keys)
                for device in devices.indices where device % 3 == 0 {
                    test.simulator.rules.set(Rule(.neverAnswer), for: devices[device])
                }
                let message = try await Whole.broadcast(nodes[0], test.keys)
                await test.simulator.recording.wait(untilCount: 40)
                nodes[0].signal(SIGSTOP)
                test.simulator.rules.clear()
                // The other one takes over when the lease is over, and ends it.
                _ = try await Whole.completeReport(message, nodes[1], test.keys)
                nodes[0].signal(SIGCONT)
                // By the store's word or by its own clock, whichever comes first.
                #expect(await nodes[0].line(containing: "a new worker was enrolled") != nil)
                try await Self.expectAll(devices, got: message, nodes, test)

                // It goes on.
                test.simulator.recording.clear()
                let next = try await Whole.broadcast(nodes[0], test.keys)
                _ = try await Whole.completeReport(next, nodes[1], test.keys)
                try await Self.expectAll(devices, got: next, nodes, test)
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
        }

        /// The database server crashes in the middle of a broadcast and comes back: what was answered 200 arrives.
        @Test func aCrashOfTheDatabaseLosesNothing() async throws {
            let server = try await PostgreSQLServer()
            let limits = "limits:\n  pageSize: 20\n  inFlight: 40"
            try await Self.with(server, limits: limits) { test in
                let nodes = [try await test.start(), try await test.start()]
                let devices = try await Whole.registerDevices(400, nodes[0], test.keys)
                let message = try await Whole.broadcast(nodes[0], test.keys)
                await test.simulator.recording.wait(untilCount: 60)
                try await server.restart(immediate: true)
                let report = try await Self.eventually(message, nodes[1], test.keys)
                #expect(try Whole.ledger(report)["accepted"] == 400)
                try await Self.expectAll(devices, got: message, nodes, test)
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
            await server.stop(immediate: true)
        }

        /// The report of a message that is complete; meanwhile the gateway may say that it has no database.
        static func eventually(
            _ message: String, _ node: GatewayProcess, _ keys: GatewayUnderTest.Keys
        ) async throws -> [String: Any] {
            let sender = APIClient(baseURL: node.baseURL, key: keys.sender)
            while true {
                let answer = try await sender.get("/v1/\(message)")
                if answer.status == 200, try answer.json["state"] as? String == "COMPLETE" { return try answer.json }
                #expect([200, 500, 503].contains(answer.status), "\(answer.text)")
                // The API has no signal for "complete": a report is asked for, as its readers do.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
#endif
