import PushModel
import Store

/// One step of removing a part of a project, within one transaction.
struct RemovalStep: Sendable {
    let part: RetentionPart
    let project: String
    let policy: RetentionPolicy
    let now: Timestamp
    /// Where it begins: the message after which it looks; negative, for payloads: behind the late ones.
    let after: Int64
    /// The most rows that it looks at or removes, at least one.
    let limit: Int

    func run(_ db: any Database) throws -> RemovedRows {
        let ledgerEnd = now + (.zero - policy.ledger)
        switch part {
        case .payloads:
            var removal = PayloadRemoval(
                db: db, project: project, endedBefore: now + (.zero - policy.payloads), limit: limit)
            return try removal.run(after: after)
        case .receipts:
            return try ReceiptRemoval(
                db: db, project: project, recordedBefore: now + (.zero - policy.receipts), limit: limit
            ).run()
        case .messages:
            var removal = MessageRemoval(db: db, project: project, endedBefore: ledgerEnd, budget: limit)
            return try removal.run(after: after)
        case .days:
            return try DayRemoval(db: db, project: project, before: ledgerEnd, limit: limit).run()
        case .formerRegistrations:
            let count = try db.change(FormerRegistrations.remove, [project, limit])
            let kinds = try db.change(EndedSingleTable.removeKinds, [limit])
            return RemovedRows(count: count, next: max(count, kinds) == limit ? 0 : nil)
        case .ledgerDays, .freePages:
            return RemovedRows()
        }
    }
}
