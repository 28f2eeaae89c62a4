package import PushModel
package import Store

extension SQLStore {
    /// Ends long-quarantined registrations app by app, some hundreds in a transaction.
    package func prune(
        quarantinedBefore time: Timestamp, in project: ProjectID, isDryRun: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int {
        var pruned = 0
        for app in try await read({ db in try AppTable(db: db).ids(of: project) }) {
            var key: Int64 = 0
            while true {
                let step = PruneStep(app: app, after: key, quarantinedBefore: time)
                let found = try await read { db in try step.found(db) }
                if !isDryRun { try await write { db in try step.end(found.keys, at: now, in: db) } }
                pruned += found.keys.count
                guard let last = found.last else { break }
                key = last
            }
        }
        return pruned
    }
}

/// Some quarantined registrations of an app, in the order of their keys.
struct PruneStep {
    /// The app's number.
    let app: Int64
    /// The step begins behind this key.
    let after: Int64
    /// Quarantines that began earlier count.
    let quarantinedBefore: Timestamp

    /// The most that one step looks at.
    static let limit = 500

    static let quarantined = """
        SELECT key, quarantined_at < ?3 FROM registration INDEXED BY registration_quarantined
        WHERE app = ?1 AND key > ?2 AND quarantined_at IS NOT NULL AND ended_at IS NULL ORDER BY key LIMIT ?4
        """
    private static let isStill = "SELECT 1 FROM registration WHERE key = ? AND quarantined_at < ? AND ended_at IS NULL"

    /// The registrations that the step ends, and the last key that it looked at; `nil`: there was none.
    func found(_ db: any Database) throws -> (keys: [Int64], last: Int64?) {
        let rows = try db.rows(Self.quarantined, [app, after, quarantinedBefore.milliseconds, Self.limit])
        return (rows.compactMap { $0[1] ? $0[0] : nil }, rows.last?[0])
    }

    /// Ends those whose quarantine was not lifted meanwhile.
    func end(_ keys: [Int64], at time: Timestamp, in db: any Database) throws {
        let table = RegistrationTable(db: db)
        for key in keys where try db.number(Self.isStill, [key, quarantinedBefore.milliseconds]) != nil {
            try table.end(RegistrationKey(rawValue: key), RegistrationEnd(time: time, cause: .deleted))
        }
    }
}
