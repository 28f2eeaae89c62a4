package import PushModel

/// The audit log. Changes that are one step of the store write their entry in the same transaction; ``record(_:)`` is
/// for those that are not.
package protocol AuditStore: Sendable {
    /// Appends an entry.
    func record(_ entry: AuditEntry) async throws(StoreError)

    /// Entries that a filter keeps, the newest first. One call looks at a bounded part of the log: a page may have fewer
    /// than `limit` entries, or none, and go on.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func auditEntries(
        _ filter: AuditFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<AuditEntry>

    /// Forgets at most `limit` entries that are older than `time`; says how many.
    func forgetAuditEntries(before time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
