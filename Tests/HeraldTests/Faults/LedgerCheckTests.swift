import Foundation
import GRDB
import Simulators
import TestSupport
import Testing

/// `herald doctor --ledger` as a process.
@Suite(.timeLimit(.minutes(5)))
struct LedgerCheckTests {
    private static func recount(
        _ test: GatewayUnderTest, _ more: [String] = []
    ) async throws -> (status: Int32, lines: [String]) {
        try await GatewayProcess.run(["doctor", "--ledger", "--config", test.configuration] + more)
    }

    @Test func itBalancesBesideARunningGatewayAndWithoutOneAndFindsADefect() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            _ = try await WholeGatewayTests.registerDevices(40, process, test.keys)
            test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 20))
            let running = try await WholeGatewayTests.broadcast(process, test.keys)
            let beside = try await Self.recount(test)
            #expect(beside.status == 0, "\(beside.lines)")
            #expect(beside.lines.contains { $0.hasPrefix("ok ") && $0.contains("balances") }, "\(beside.lines)")
            _ = try await WholeGatewayTests.completeReport(running, process, test.keys)
            #expect(await process.end(with: SIGTERM) == 0)
            #expect(try await Self.recount(test).status == 0)

            try await Self.dropALedgerRow(test.directory.file("data/herald.db"))
            let off = try await Self.recount(test)
            #expect(off.status == 1)
            #expect(off.lines.contains { $0.hasPrefix("failed") && $0.contains("ledger") }, "\(off.lines)")
            #expect(off.lines.last?.hasPrefix("herald: the ledger is off: ") == true, "\(off.lines)")
            let json = try await Self.recount(test, ["--json"])
            #expect(json.status == 1)
            let check = try JSONSerialization.jsonObject(with: Data((json.lines.first ?? "").utf8)) as? [String: String]
            #expect(check?["status"] == "failed")
        }
    }

    @Test func withoutAStoreThereIsNothingToRecount() async throws {
        let fixture = try ServeFixture()
        let result = try await GatewayProcess.run(["doctor", "--ledger", "--config", fixture.file])
        #expect(result.status == 74)
        #expect(result.lines.count == 1 && result.lines.first?.contains("there is no store in") == true)
    }

    /// What a defect of the gateway would do: the sums stay, a row is missing.
    private static func dropALedgerRow(_ file: String) async throws {
        let queue = try DatabaseQueue(path: file)
        try await queue.write { db in
            try db.execute(sql: "DELETE FROM ledger_block WHERE id = (SELECT max(id) FROM ledger_block)")
        }
        try queue.close()
    }
}
