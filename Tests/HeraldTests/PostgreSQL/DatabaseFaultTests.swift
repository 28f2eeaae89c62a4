#if PostgreSQL
    import Foundation
    import Simulators
    import TestSupport
    import Testing

    /// Gateways whose connections to the database are refused, cut, or lead to another server, as processes over real
    /// sockets: what was answered 200 arrives, and what comes twice has the same id.
    @Suite(.timeLimit(.minutes(5)), .heavy, .serialized, .enabled(if: PostgreSQLServer.isInstalled))
    struct DatabaseFaultTests {
        private typealias Whole = WholeGatewayTests
        private typealias Nodes = ManyNodesTests

        /// A message to one device, which a backend sends until it is taken.
        private struct Single {
            let device: String
            let name: String
        }

        /// Gateways on one database, with devices that a broadcast goes to at twenty a second: whatever happens meanwhile
        /// happens in its middle.
        private struct Scene {
            let test: GatewayUnderTest
            let nodes: [GatewayProcess]
            let devices: [String]
            private let others: [(device: String, token: String)]
            private(set) var singles: [Single] = []
            private var message = ""

            init(_ test: GatewayUnderTest, _ nodes: [GatewayProcess]) async throws {
                (self.test, self.nodes) = (test, nodes)
                let last = nodes[nodes.count - 1]
                devices = try await Whole.registerDevices(200, last, test.keys)
                let client = APIClient(baseURL: last.baseURL, key: test.keys.admin)
                var others: [(device: String, token: String)] = []
                for number in 0..<40 {
                    let device = String(format: "5e%06x", number).deviceToken
                    others.append((device, try await client.register(deviceToken: device)))
                }
                self.others = others
            }

            /// Begins the broadcast at a node; returns when some devices have it.
            mutating func broadcast(at node: Int) async throws {
                message = try await DatabaseFaultTests.send(
                    DatabaseFaultTests.broadcast, "all", to: nodes[node], test.keys)
                await test.simulator.recording.wait(untilCount: 10)
                #expect(test.simulator.recording.count < 150)
            }

            /// Sends to some of the devices that no other message goes to.
            mutating func sendSingles(_ count: Int, at node: Int) async throws {
                let (process, keys, first) = (nodes[node], test.keys, singles.count)
                let recipients = others[first..<first + count]
                singles += try await withThrowingTaskGroup(of: Single.self) { group in
                    for (number, (device, token)) in recipients.enumerated() {
                        group.addTask {
                            let text = #"{"message":{"token":"\#(token)","data":{"a":"b"}}}"#
                            let name = try await DatabaseFaultTests.send(
                                text, "single-\(first + number)", to: process, keys)
                            return Single(device: device, name: name)
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }

            /// Fails unless everything that was taken arrived, each with one `apns-id`, and every node says so.
            func expectAll() async throws {
                for node in nodes { _ = try await Nodes.eventually(message, node, test.keys) }
                for single in singles { _ = try await Nodes.eventually(single.name, nodes[0], test.keys) }
                let pushes = test.simulator.recording.pushes
                try await Nodes.expectAll(
                    devices, got: message, nodes, test, pushes.filter { $0.payload == Whole.payload })
                let others = Dictionary(grouping: pushes.filter { $0.payload != Whole.payload }, by: \.deviceToken)
                #expect(Set(others.keys) == Set(singles.map(\.device)))
                #expect(others.values.allSatisfy { Set($0.map { $0.headers["apns-id"] }).count == 1 })
                for node in nodes {
                    for single in singles {
                        let report = try await Whole.completeReport(single.name, node, test.keys)
                        #expect(try Whole.ledger(report)["accepted"] == 1)
                    }
                    #expect(await node.end(with: SIGTERM) == 0)
                }
            }
        }

        private static let broadcast = #"{"delivery":{"rate":20},"# + Whole.sample.dropFirst()

        private static let limits = "limits:\n  pageSize: 20\n  inFlight: 40"

        /// Runs `body` with a configuration of a store.
        private static func with(
            _ database: String, _ body: (GatewayUnderTest) async throws -> Void
        ) async throws {
            try await GatewayUnderTest.with(settings: "store:\n  url: '\(database)'\n\(limits)", body)
        }

        /// Sends as a backend does that asks again when it is told 503: with a key, so that it is one message.
        private static func send(
            _ message: String, _ key: String, to node: GatewayProcess, _ keys: GatewayUnderTest.Keys
        ) async throws -> String {
            let sender = APIClient(baseURL: node.baseURL, key: keys.sender)
            while true {
                let answer = try await sender.post(
                    "/v1/projects/demo/messages:send", message, headers: ["Idempotency-Key": key])
                if answer.status == 200 { return try #require(try answer.json["name"] as? String) }
                guard [500, 503].contains(answer.status) else { throw ChildProcessError(answer.text) }
                // Nothing tells a caller when the gateway has its database again.
                try await Task.sleep(for: .milliseconds(50))
            }
        }

        /// Returns when a node says that it takes no message.
        private static func refusal(by node: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws {
            let sender = APIClient(baseURL: node.baseURL, key: keys.sender)
            var status = 200
            // The key makes it one message, to a topic without subscribers.
            while status != 503 {
                status = try await sender.post(
                    "/v1/projects/demo/messages:send", #"{"message":{"topic":"none","data":{"a":"b"}}}"#,
                    headers: ["Idempotency-Key": "none"]
                ).status
                #expect([200, 500, 503].contains(status))
            }
        }

        // MARK: Partitions

        /// Cut off by resets, or by a peer that takes connections and says nothing: the other node goes on, and the one that
        /// comes back records what it has sent.
        @Test(arguments: [TCPRelay.Fault.reset, .silence])
        func aNodeThatIsCutOffJoinsAgain(fault: TCPRelay.Fault) async throws {
            let server = try await PostgreSQLServer.shared()
            let database = try await server.makeDatabase()
            try await Self.with(database) { test in
                let relay = try TCPRelay(to: server.port)
                let name = PostgreSQLServer.name(of: database)
                let url = "postgresql://postgres:horse%20battery@127.0.0.1:\(relay.port)/\(name)?sslmode=disable"
                let cut = try await test.start(environment: ["HERALD_STORE_URL": url])
                var scene = try await Scene(test, [cut, try await test.start()])
                try await scene.broadcast(at: 0)
                relay.treatAll(.fault(fault, afterReads: 0))
                relay.inflict(fault)
                try await scene.sendSingles(20, at: 1)
                // It is told at once that there is no database, or waits for an answer.
                if fault == .reset { try await Self.refusal(by: cut, test.keys) }
                await test.simulator.recording.wait(untilCount: 80)
                relay.treatAll(.forward)
                relay.inflict(.reset)
                try await scene.sendSingles(10, at: 0)
                try await scene.expectAll()
            }
        }

        // MARK: Commits

        /// Each connection of a node is cut when COMMIT comes: the server has got it, and its answer is lost, or it has not.
        @Test func aCommitThatIsCutOffIsLookedUp() async throws {
            let server = try await PostgreSQLServer.shared()
            let database = try await server.makeDatabase()
            let (isLosing, connections) = (Shared(false), Shared(0))
            let proxy = try WireProxy(to: server) { _ in
                guard isLosing.withLock({ $0 }) else { return .pass }
                let number = connections.withLock { count in
                    count += 1
                    return count
                }
                return .loseCommit(isForwarded: number % 2 == 0)
            }
            try await Self.with(database) { test in
                let url = server.url(database, at: proxy.host, port: proxy.port) + "&application_name=behind"
                let behind = try await test.start(environment: ["HERALD_STORE_URL": url])
                var scene = try await Scene(test, [behind, try await test.start()])
                try await scene.broadcast(at: 0)
                isLosing.withLock { $0 = true }
                try await server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'behind'",
                    in: database)
                for _ in 0..<3 { try await scene.sendSingles(10, at: 0) }
                #expect(await behind.line(containing: "A commit had no answer") != nil)
                #expect(connections.withLock { $0 } > 5)
                isLosing.withLock { $0 = false }
                try await scene.sendSingles(10, at: 0)
                try await scene.expectAll()
            }
            proxy.close()
        }

        // MARK: Connections

        /// The server refuses connections beyond a few (53300), then all: a node makes do with those it has, and with none it
        /// takes nothing that it could not keep.
        @Test func aNodeSendsOnWithTheConnectionsThatItGets() async throws {
            let server = try await PostgreSQLServer.shared()
            let database = try await server.makeDatabase()
            let name = PostgreSQLServer.name(of: database)
            // Limits of connections hold for users who are not superusers.
            let user = "herald_\(name)"
            try await server.execute("CREATE ROLE \(user) LOGIN", in: database)
            try await server.execute("ALTER DATABASE \(name) OWNER TO \(user)", in: database)
            func limit(to count: Int) async throws {
                try await server.execute("ALTER ROLE \(user) CONNECTION LIMIT \(count)", in: database)
                try await server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(user)'", in: database)
            }
            try await Self.with(database.replacing("postgres@", with: "\(user)@")) { test in
                var scene = try await Scene(test, [try await test.start()])
                try await scene.broadcast(at: 0)
                try await limit(to: 4)
                try await scene.sendSingles(20, at: 0)
                try await limit(to: 0)
                try await Self.refusal(by: scene.nodes[0], test.keys)
                try await limit(to: -1)
                try await scene.sendSingles(10, at: 0)
                try await scene.expectAll()
            }
        }

        // MARK: Standbys

        /// The primary ends in the middle of a broadcast, and the standby that had to confirm each commit takes its place.
        @Test func thePromotionOfAStandbyLosesNothing() async throws {
            let primary = try await PostgreSQLServer()
            let database = try await primary.makeDatabase()
            let standby = try await PostgreSQLServer(standbyOf: primary)
            // Settings of the primary alone: the standby has its files of a moment ago.
            try await primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", in: database)
            try await primary.execute("SELECT pg_reload_conf()", in: database)
            let hosts = [primary, standby].map(\.socketDirectory).joined(separator: ",")
            let ports = [primary, standby].map { String($0.port) }.joined(separator: ",")
            let name = PostgreSQLServer.name(of: database)
            try await Self.with("postgresql://postgres@/\(name)?host=\(hosts)&port=\(ports)") { test in
                var scene = try await Scene(test, [try await test.start(), try await test.start()])
                try await scene.broadcast(at: 0)
                try await scene.sendSingles(10, at: 1)
                await primary.stop(immediate: true)
                try await standby.promote()
                try await scene.sendSingles(10, at: 0)
                try await scene.expectAll()
            }
            await standby.stop(immediate: true)
        }
    }
#endif
