import Logging
import PushModel
import TestSupport
import Testing

@testable import Store

/// Pages and claims read ranges of an index, whatever the size of the tables.
@Suite(.timeLimit(.minutes(5)))
struct QueryPlanTests {
    /// A statement and the table that it may walk from one end, if there is one: its index holds only what is asked for.
    struct Hot: Sendable, CustomTestStringConvertible {
        let name: String
        let sql: String
        var walks: String?
        var sorts = false
        var testDescription: String { name }
    }

    static let hot: [Hot] = [
        Hot(name: "due", sql: PendingTable.due),
        Hot(name: "next due", sql: PendingTable.next),
        Hot(name: "turn", sql: FanOutTable.turn, walks: "fan_out_turn"),
        Hot(name: "newest turn", sql: FanOutTable.newestTurn, walks: "fan_out_turn"),
        Hot(name: "released page", sql: FanOutTable.released, walks: "page_released"),
        Hot(name: "subscribers", sql: FanOutTable.subscribers),
        Hot(name: "open subscribers", sql: FanOutTable.openSubscribers),
        Hot(name: "complete", sql: MessageTable.complete),
        Hot(name: "message", sql: MessageTable.byID),
        Hot(name: "registration by FID", sql: RegistrationTable.byID),
        Hot(name: "registration by token", sql: RegistrationTable.byToken),
        Hot(name: "registration by device token", sql: RegistrationTable.byDeviceToken),
        Hot(name: "subscription", sql: TopicTable.subscription),
        Hot(name: "unsubscribe", sql: TopicTable.unsubscribe),
        Hot(name: "subscriptions", sql: TopicTable.subscriptions, sorts: true),
        Hot(name: "newest messages", sql: ReportReader.newest),
        Hot(name: "deliveries in pages", sql: ReportReader.inPages),
        Hot(name: "deliveries in pending", sql: ReportReader.pending),
        Hot(name: "source of a message", sql: MessageTable.source),
        Hot(name: "waiting deliveries", sql: DeliveryReader.waiting),
        Hot(name: "ended deliveries", sql: DeliveryReader.ended(nil)),
        Hot(name: "accepted deliveries", sql: DeliveryReader.ended(.accepted)),
        Hot(name: "rejected deliveries", sql: DeliveryReader.ended(.rejected)),
        Hot(name: "export", sql: ExportReader.rows),
        Hot(name: "bounds of an export", sql: ExportReader.bounds),
        Hot(name: "ledger row", sql: SettleStep.Statements.insertLedger),
        Hot(name: "retry", sql: SettleStep.Statements.moveToPending),
        Hot(name: "take from pending", sql: SettleStep.Statements.takeFromPending),
        Hot(name: "put back", sql: SettleStep.Statements.putBack),
        Hot(name: "prove", sql: RegistrationTable.prove),
        Hot(name: "doubt", sql: RegistrationTable.doubt),
        Hot(name: "quarantine", sql: RegistrationTable.quarantine),
        Hot(name: "lift quarantines", sql: RegistrationTable.liftQuarantine),
    ]

    @Test(arguments: hot)
    func hotStatementsScanAndSortNoTable(_ statement: Hot) async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let plan = try await store.lastColumn(of: "EXPLAIN QUERY PLAN " + statement.sql)
        for line in plan {
            let isScan = line.hasPrefix("SCAN") && line != "SCAN CONSTANT ROW"
            #expect(!isScan || statement.walks.map(line.contains) == true, "\(plan)")
            #expect(!line.contains("TEMP B-TREE") || statement.sorts, "\(plan)")
            #expect(!line.contains("AUTOMATIC"), "\(plan)")
        }
        #expect(plan.contains { $0.contains("SEARCH") } || statement.walks != nil)
    }
}
