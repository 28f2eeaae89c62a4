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
        /// Whether the index holds all that is asked for.
        var covers = false
        var testDescription: String { name }
    }

    static let hot: [Hot] = [
        Hot(name: "due", sql: PendingTable.due),
        Hot(name: "due of a message", sql: PendingTable.dueOfMessage),
        Hot(name: "next route", sql: PendingTable.nextRoute, covers: true),
        Hot(name: "next due", sql: PendingTable.next, covers: true),
        Hot(name: "waits too long", sql: PendingTable.nextBeyond),
        Hot(name: "bring forward", sql: PendingTable.bringForward),
        Hot(name: "claim a due one", sql: PendingTable.claim),
        Hot(name: "move to another route", sql: PendingTable.moveToRoute),
        Hot(name: "take from pending", sql: PendingTable.take),
        Hot(name: "route", sql: RouteTable.byName),
        Hot(name: "route by number", sql: RouteTable.byID),
        Hot(name: "next project", sql: FanOutTable.nextProject, covers: true),
        Hot(name: "next open message", sql: FanOutTable.nextMessage, walks: "VIRTUAL TABLE"),
        Hot(name: "open shards", sql: FanOutTable.shardsOfMessage, walks: "VIRTUAL TABLE"),
        Hot(name: "oldest shard of a route", sql: FanOutTable.oldestOfRoute),
        Hot(name: "claimed of a message", sql: FanOutTable.claimed),
        Hot(name: "shard", sql: Shard.byID),
        Hot(name: "released page", sql: FanOutTable.released),
        Hot(name: "claim a page", sql: FanOutTable.claimPage),
        Hot(name: "move the cursor", sql: FanOutTable.moveCursor),
        Hot(name: "reopen", sql: FanOutTable.reopen),
        Hot(name: "subscribers", sql: CandidateReader.subscribers),
        Hot(name: "keys of a topic", sql: KeyStream.topic),
        Hot(name: "keys of a project", sql: KeyStream.app),
        Hot(name: "keys of a list", sql: KeyStream.list),
        Hot(name: "keys set aside", sql: KeyStream.setAside),
        Hot(name: "shard of a route", sql: FanOutTable.splitOff),
        Hot(name: "more set aside", sql: FanOutTable.moreSetAside),
        Hot(name: "split", sql: FanOutTable.split),
        Hot(name: "expect", sql: FanOutTable.expect),
        Hot(name: "registration by key", sql: DeliveryRegistrationReader.byKey),
        Hot(name: "topic by name", sql: TopicTable.byName),
        Hot(name: "subscribers of a topic", sql: AudienceCounter.subscribers),
        Hot(name: "registrations of a project", sql: AudienceCounter.registrations),
        Hot(name: "first subscriber", sql: AcceptStep.firstSubscriber),
        Hot(name: "last subscriber", sql: AcceptStep.lastSubscriber),
        Hot(name: "last registration", sql: AcceptStep.lastRegistration),
        Hot(name: "idempotency key", sql: IdempotencyTable.find),
        Hot(name: "forget idempotency keys", sql: IdempotencyTable.forget),
        Hot(name: "changes of the load", sql: LoadChange.after),
        Hot(name: "worker", sql: WorkerTable.isRunning),
        Hot(name: "lapsed workers", sql: WorkerTable.lapsed),
        Hot(name: "give pending back", sql: WorkerTable.givePendingBack),
        Hot(name: "open in pages of a worker", sql: WorkerTable.openInPages),
        Hot(name: "give pages back", sql: WorkerTable.givePagesBack),
        Hot(name: "open shards of a worker", sql: WorkerTable.openShards),
        Hot(name: "backlog: waiting", sql: Backlog.waiting, covers: true),
        Hot(name: "backlog: held", sql: Backlog.held, covers: true),
        Hot(name: "backlog: claimed", sql: Backlog.claimed, walks: "pending_claimed", covers: true),
        Hot(name: "backlog: in pages", sql: Backlog.inPages, walks: "page_open", covers: true),
        Hot(name: "backlog: unclaimed", sql: Backlog.unclaimed, walks: "fan_out_unclaimed", covers: true),
        Hot(name: "message to control", sql: ControlStep.state),
        Hot(name: "hold", sql: ControlStep.hold),
        Hot(name: "cancelled messages", sql: ControlStep.cancelled),
        Hot(name: "released pages of a message", sql: ControlStep.released),
        Hot(name: "waiting of a message", sql: ControlStep.waiting),
        Hot(name: "unclaimed of a message", sql: ControlStep.unclaimed),
        Hot(name: "page", sql: SettleStep.pageByID),
        Hot(name: "message by number", sql: SettleStep.messageBySeq),
        Hot(name: "message by id", sql: SettleStep.messageByID),
        Hot(name: "settle a page", sql: SettleStep.settlePage),
        Hot(name: "remove a page", sql: SettleStep.removePage),
        Hot(name: "put back", sql: SettleStep.putBack),
        Hot(name: "complete", sql: MessageTable.complete),
        Hot(name: "message", sql: MessageTable.byID),
        Hot(name: "registration by FID", sql: RegistrationTable.byID),
        Hot(name: "registration by foreign token", sql: RegistrationTable.byForeignToken),
        Hot(name: "registration by device token", sql: RegistrationTable.byDeviceToken),
        Hot(name: "subscription", sql: TopicTable.subscription),
        Hot(name: "unsubscribe", sql: TopicTable.unsubscribe),
        Hot(name: "subscriptions", sql: TopicTable.subscriptions, sorts: true),
        Hot(name: "sums by day", sql: DeliveryDayReader.ended),
        Hot(name: "waiting deliveries by day", sql: DeliveryDayReader.waiting, sorts: true),
        Hot(name: "pages of open messages", sql: DeliveryDayReader.pages),
        Hot(name: "app of a registration", sql: KeyApps.ofKey),
        Hot(name: "app of a registration that is gone", sql: KeyApps.ofFormer),
        Hot(name: "apps of registrations together", sql: KeyApps.ofRange),
        Hot(name: "apps of registrations that are gone together", sql: KeyApps.ofFormerRange),
        Hot(name: "topics of a project", sql: TopicReader.topics),
        Hot(name: "subscribers of a topic, with their registrations", sql: TopicReader.subscribers),
        Hot(name: "newest messages", sql: ReportReader.newest),
        Hot(name: "newest active messages", sql: ReportReader.newest(in: .active)),
        Hot(name: "newest complete messages", sql: ReportReader.newest(in: .complete)),
        Hot(name: "deliveries in pages", sql: ReportReader.inPages),
        Hot(name: "deliveries in pending", sql: ReportReader.pending),
        Hot(name: "source of a message", sql: MessageTable.source),
        Hot(name: "waiting deliveries", sql: DeliveryReader.waiting),
        Hot(name: "ended deliveries", sql: DeliveryReader.ended(nil)),
        Hot(name: "accepted deliveries", sql: DeliveryReader.ended(.accepted)),
        Hot(name: "rejected deliveries", sql: DeliveryReader.ended(.rejected)),
        Hot(name: "export", sql: ExportReader.blocks),
        Hot(name: "names of ledger entries", sql: LedgerReader.names, walks: "k VIRTUAL TABLE"),
        Hot(name: "blocks of a registration", sql: RegistrationDeliveryReader.blocks),
        Hot(name: "blocks to look at", sql: RegistrationDeliveryReader.floor),
        Hot(name: "key of a registration", sql: RegistrationDeliveryReader.key),
        Hot(name: "blocks of a recount", sql: LedgerRecount.blocks),
        Hot(name: "next message of a recount", sql: LedgerRecount.messages),
        Hot(name: "waiting deliveries of a recount", sql: LedgerRecount.waitingKeys),
        Hot(name: "first key of a recount", sql: LedgerRecount.firstKey, walks: "subquery"),
        Hot(name: "open pages of a message", sql: OpenPage.ofMessage, sorts: true),
        Hot(name: "bounds of an export", sql: ExportReader.bounds),
        Hot(name: "prove", sql: RegistrationTable.prove),
        Hot(name: "doubt", sql: RegistrationTable.doubt),
        Hot(name: "quarantine", sql: RegistrationTable.quarantine),
        Hot(name: "quarantined registrations", sql: RegistrationTable.quarantined),
        Hot(name: "lift quarantine", sql: RegistrationTable.lift),
        Hot(name: "list of an app", sql: RegistrationReader.active),
        Hot(name: "list of quarantined", sql: RegistrationReader.quarantined),
        Hot(name: "registrations of a user", sql: RegistrationReader.ofUser),
        Hot(name: "ended registrations", sql: RegistrationPurge.ended, walks: "pending"),
        Hot(name: "remember a registration", sql: RegistrationPurge.keep),
        Hot(name: "audit", sql: AuditTable.of, sorts: true),
        Hot(name: "device group by key", sql: DeviceGroupTable.byKey),
        Hot(name: "key of a device group", sql: DeviceGroupTable.keyByName),
        Hot(name: "members of a device group", sql: DeviceGroupTable.membersOf),
        Hot(name: "keys of the members", sql: DeviceGroupTable.memberKeys),
        Hot(name: "active registration", sql: DeviceGroupTable.active),
        Hot(name: "remove a member", sql: DeviceGroupTable.removeMember),
        Hot(name: "remove an empty device group", sql: DeviceGroupTable.removeEmpty),
        Hot(name: "owner of a subscriber", sql: SubscriptionBatch.owner),
        Hot(name: "subscribed since", sql: SubscriptionBatch.since),
        Hot(name: "count of topics", sql: SubscriptionBatch.count),
        Hot(name: "registrations to export", sql: RegistrationExporter.rows),
        Hot(name: "topics to export", sql: RegistrationExporter.topics),
        Hot(name: "web registrations to export", sql: RegistrationExporter.isWeb),
        Hot(name: "installation by FID", sql: InstallationTable.byID),
        Hot(name: "installation by token", sql: InstallationTable.byToken),
        Hot(name: "tokens of an installation", sql: InstallationTable.trim),
        Hot(name: "expired tokens", sql: InstallationTable.forgetTokens),
        Hot(name: "unused installations", sql: InstallationTable.forget),
        Hot(name: "taken FID", sql: InstallationTable.isTaken),
        Hot(name: "whether a registration is an installation's", sql: InstallationTable.isLinked),
        Hot(name: "installation of a registration", sql: RegistrationTable.moveInstallation),
        Hot(name: "bind a registration", sql: InstallationRegistrar.bind),
        Hot(name: "keep subscriptions", sql: RegistrationTable.keepSubscriptions),
        Hot(name: "kept subscriptions", sql: RegistrationTable.keptSubscriptions),
        Hot(name: "forget kept subscriptions", sql: RegistrationTable.forgetKeptSubscriptions),
        Hot(name: "inherit a proof", sql: RegistrationTable.inheritProof),
        Hot(name: "revive", sql: RegistrationTable.revive),
        Hot(name: "web subscription", sql: RegistrationTable.webSubscription),
        Hot(name: "message of a receipt", sql: ReceiptTable.message),
        Hot(name: "pending delivery of a receipt", sql: ReceiptTable.isPending),
        Hot(name: "blocks of a receipt", sql: ReceiptTable.blocks),
        Hot(name: "pages of a receipt", sql: ReceiptTable.pages),
        Hot(name: "sums of receipts", sql: ReceiptTable.sums),
        Hot(name: "receipt of a day", sql: ReceiptTable.countDay, sorts: true),
        Hot(name: "receipts of deliveries", sql: ReceiptTable.ofDeliveries, walks: "k VIRTUAL TABLE"),
        Hot(name: "export of receipts", sql: ReceiptReader.window),
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
        #expect(!statement.covers || plan.allSatisfy { $0.contains("COVERING INDEX") }, "\(plan)")
        #expect(plan.contains { $0.contains("SEARCH") } || statement.walks != nil)
    }
}
