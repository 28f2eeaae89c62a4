#if PostgreSQL
    import Foundation
    import Simulators
    import TestSupport
    import Testing

    /// The database server's disk is really full: nothing is lost, callers are told, and the nodes go on by themselves.
    @Suite(
        .timeLimit(.minutes(5)), .heavy, .serialized,
        .enabled(if: PostgreSQLServer.isInstalled && geteuid() == 0),
        .enabled("mounting a tmpfs has to be allowed", { await SmallDisk.isPossible() }))
    struct DatabaseDiskTests {
        private typealias Whole = WholeGatewayTests
        private typealias Nodes = ManyNodesTests

        @Test func aFullDiskOfTheDatabaseIsToldAndServiceResumes() async throws {
            let server = try await PostgreSQLServer(diskMegabytes: 160)
            let disk = try #require(server.disk)
            let database = try await server.makeDatabase()
            try await GatewayUnderTest.with(settings: "store:\n  url: '\(database)'") { test in
                let nodes = [try await test.start(), try await test.start()]
                let steps = nodes.map { FaultSteps(process: $0, keys: test.keys) }
                let devices = try await Whole.registerDevices(30, nodes[0], test.keys)
                // Answers that come when the disk is full already.
                test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 700))
                let first = try await Whole.broadcast(nodes[0], test.keys)
                await test.simulator.recording.wait(untilCount: 1)

                // The log has room left in its next file, which this makes: a server that can't write it ends.
                try await server.execute("SELECT pg_switch_wal()", in: database)
                try await server.execute("CREATE TABLE room (number int); CHECKPOINT", in: database)
                try disk.fill()
                var taken: [String] = []
                for step in steps {
                    let (names, refusal) = try await step.broadcastUntilRefused("filling")
                    taken += names
                    try step.expectUnavailable(refusal)
                    #expect(try await step.sender.get("/healthz").status == 200)
                    let report = try await step.sender.get("/v1/\(first)")
                    #expect(report.status == 200, "what is only read is still served")
                }
                #expect(try await steps[1].problems()?.contains { $0.contains("disk") } == true)

                try disk.free()
                test.simulator.rules.clear()
                for step in steps { try await step.untilReady() }
                let last = try await Whole.broadcast(nodes[1], test.keys)
                try await steps[0].expectComplete([first, last] + taken, recipients: devices.count)
                for name in [first, last] {
                    for node in nodes { _ = try await Whole.completeReport(name, node, test.keys) }
                }
                let ids = Dictionary(grouping: test.simulator.recording.pushes) { $0.headers["apns-id"] }
                #expect(ids.count == (taken.count + 2) * devices.count, "what comes twice has the same id")
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
            await server.stop(immediate: true)
        }
    }
#endif
