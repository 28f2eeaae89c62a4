#if PostgreSQL
    import Foundation
    import Simulators
    import TestSupport
    import Testing

    /// Nodes whose wall clocks are an hour apart from the database's: leases, retries, times to live, what the ledger says and
    /// the tokens for Apple all go by the database's clock.
    @Suite(
        .timeLimit(.minutes(5)), .heavy, .serialized,
        .enabled(if: PostgreSQLServer.isInstalled && FaultShim.compiler != nil))
    struct NodeClockTests {
        private typealias Whole = WholeGatewayTests
        private typealias Nodes = ManyNodesTests

        /// When the ledger says that a message's deliveries ended, seconds since 1970.
        private static func times(
            of message: String, _ node: GatewayProcess, _ keys: GatewayUnderTest.Keys
        ) async throws -> [Double] {
            let sender = APIClient(baseURL: node.baseURL, key: keys.sender)
            let listed = try await sender.get("/v1/\(message)/deliveries?pageSize=1000").json
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            return try #require(listed["deliveries"] as? [[String: Any]]).map { delivery in
                try format.parse(try #require(delivery["endTime"] as? String)).timeIntervalSince1970
            }
        }

        @Test func nodesWithWrongClocksSendAsTheDatabaseSays() async throws {
            let database = try await PostgreSQLServer.shared().makeDatabase()
            let (ahead, behind) = (try await FaultShim(), try await FaultShim())
            try ahead.stepClock(to: 3600)
            try behind.stepClock(to: -3600)
            let settings = "store:\n  url: '\(database)'\nlimits:\n  pageSize: 20\n  inFlight: 40"
            // Apple's clock is right: it would refuse tokens of an hour ago, or of the future.
            try await GatewayUnderTest.with(settings: settings) { test in
                let nodes = [
                    try await test.start(environment: ahead.environment),
                    try await test.start(environment: behind.environment),
                ]
                let devices = try await Whole.registerDevices(120, nodes[0], test.keys)
                for device in devices.prefix(30) {
                    test.simulator.rules.set(
                        Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), for: device)
                }
                let began = Date().timeIntervalSince1970
                // Would be over for one of the nodes before it is sent.
                for node in nodes {
                    test.simulator.recording.clear()
                    let sent = try await APIClient(baseURL: node.baseURL, key: test.keys.sender).post(
                        "/v1/projects/demo/messages:send",
                        #"{"message":{"topic":"weather","notification":{"title":"Hi"},"apns":{"headers":{"apns-expiration":"\#(Int(began) + 600)"}}}}"#
                    )
                    #expect(sent.status == 200, "\(sent.text)")
                    let message = try #require(try sent.json["name"] as? String)
                    _ = try await Nodes.eventually(message, nodes[0], test.keys)
                    let pushes = test.simulator.recording.pushes.filter { $0.status == 200 }
                    #expect(Set(pushes.map(\.deviceToken)) == Set(devices))
                    #expect(pushes.count == devices.count)
                    for node in nodes {
                        let report = try await Whole.completeReport(message, node, test.keys)
                        #expect(try Whole.ledger(report)["accepted"] == devices.count)
                        let times = try await Self.times(of: message, node, test.keys)
                        let now = Date().timeIntervalSince1970
                        #expect(times.count == devices.count)
                        #expect(times.allSatisfy { (began - 60...now + 60).contains($0) })
                    }
                }
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
        }

        /// The lease of a node that was killed is over when the database says so, whatever time it is for the one that takes over.
        @Test(arguments: [-3600, 3600])
        func aNodeWithAWrongClockTakesOverInTime(seconds: Int64) async throws {
            let database = try await PostgreSQLServer.shared().makeDatabase()
            let shim = try await FaultShim()
            try shim.stepClock(to: seconds)
            let settings = "store:\n  url: '\(database)'\nlimits:\n  pageSize: 20\n  inFlight: 40"
            try await GatewayUnderTest.with(settings: settings) { test in
                let nodes = [try await test.start(), try await test.start(environment: shim.environment)]
                let devices = try await Whole.registerDevices(200, nodes[0], test.keys)
                for device in devices.indices where device % 3 == 0 {
                    test.simulator.rules.set(Rule(.neverAnswer), for: devices[device])
                }
                let message = try await Whole.broadcast(nodes[0], test.keys)
                await test.simulator.recording.wait(untilCount: 40)
                await nodes[0].end(with: SIGKILL)
                test.simulator.rules.clear()
                _ = try await Whole.completeReport(message, nodes[1], test.keys)
                try await Nodes.expectAll(devices, got: message, [nodes[1]], test)
                #expect(await nodes[1].end(with: SIGTERM) == 0)
            }
        }
    }
#endif
