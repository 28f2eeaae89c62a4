#if PostgreSQL
    import Foundation
    import Simulators
    import TestSupport
    import Testing

    /// Gateways of two versions on one database: the newer one has migrated, as far as an older one can see.
    @Suite(.timeLimit(.minutes(5)), .heavy, .enabled(if: PostgreSQLServer.isInstalled))
    struct RollingUpgradeTests {
        /// Notes a migration that this program does not know, with what such a one adds.
        ///
        /// - Parameter gap: from how many versions behind this program's on others may go on with it.
        private static func migrate(_ database: String, by steps: Int, goingOnFrom gap: Int) async throws {
            let server = try await PostgreSQLServer.shared()
            try await server.execute(
                """
                ALTER TABLE node ADD COLUMN later_\(steps) bigint NOT NULL DEFAULT 7;
                ALTER TABLE message ADD COLUMN later_\(steps) bigint;
                CREATE TABLE later_\(steps) (message bigint PRIMARY KEY REFERENCES message (seq) ON DELETE CASCADE);
                INSERT INTO schema_version (version, runs_from, time)
                    SELECT max(version) + 1, max(version) + 1 - \(gap), 0 FROM schema_version;
                """, in: database)
        }

        /// A node that runs goes on while a newer one migrates, and so does one that starts beside it; when the tables are of a
        /// version that this program can't go on with, a node that runs goes on, and one that starts says what is to be done.
        @Test func nodesOfTheVersionBeforeGoOnAndOlderOnesDoNotStart() async throws {
            let database = try await PostgreSQLServer.shared().makeDatabase()
            let settings = "store:\n  url: '\(database)'\nlimits:\n  shutdownSeconds: 1"
            try await GatewayUnderTest.with(settings: settings) { test in
                let first = try await test.start()
                try await Self.migrate(database, by: 1, goingOnFrom: 1)
                let second = try await test.start()
                try await Self.send(1, first, second, test)

                try await Self.migrate(database, by: 2, goingOnFrom: 0)
                try await Self.send(2, second, first, test)
                let refused = try await GatewayProcess.run(["serve", "--config", test.configuration])
                #expect(refused.status == 78)
                let lines = refused.lines.filter { $0.hasPrefix("herald: ") }
                #expect(lines.count == 1, "\(refused.lines)")
                #expect(lines.first?.contains("Install a newer version of Herald") == true, "\(lines)")
                let version = try await PostgreSQLServer.shared().execute(
                    "SELECT max(version) FROM schema_version", in: database)
                #expect(lines.first?.contains("for gateways from version \(version[0]) on") == true, "\(lines)")
                // Both leave in order: nothing that they write misses what the newer tables have.
                for node in [first, second] { #expect(await node.end(with: SIGTERM) == 0) }
                #expect(try await PostgreSQLServer.shared().execute("SELECT count(*) FROM node", in: database) == ["0"])
            }
        }

        /// A device registers at one node, and another one sends to it: reports of both balance.
        private static func send(
            _ number: Int, _ node: GatewayProcess, _ other: GatewayProcess, _ test: GatewayUnderTest
        ) async throws {
            let token = try await APIClient(baseURL: other.baseURL, key: test.keys.admin)
                .register(deviceToken: String(number))
            let sent = try await APIClient(baseURL: node.baseURL, key: test.keys.sender).post(
                "/v1/projects/demo/messages:send",
                #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
            let message = try #require(try sent.json["name"] as? String, "\(sent.text)")
            await test.simulator.recording.wait(untilCount: number)
            let report = try await ManyNodesTests.eventually(message, other, test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
        }
    }
#endif
