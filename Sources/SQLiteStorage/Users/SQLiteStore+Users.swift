import GRDB
package import PushModel
package import Store

extension SQLiteStore: UserStore {
    /// Ends what is active, so that nothing new is meant for the person; finds the rest beside the writer; removes it, the
    /// names at last, by which it is found; then rewrites the file and empties the log, which still hold what was there.
    package func erase(
        _ user: UserID, in project: ProjectID, at now: Timestamp
    ) async throws(StoreError) -> ErasedUser {
        try await endRegistrations(of: user, in: project, at: now)
        let search = UserSearch(user: user.rawValue, project: project.rawValue)
        let traces = try await read { db in try search.traces(db) }
        var erased = ErasedUser()
        erased.registrations = traces.named.count
        erased.messages = try await eraseMessages(of: traces, search)
        erased.receipts = try await eraseReceipts(of: traces, search)
        for audit in traces.audits.parts(of: UserErasure.step) {
            try await write(rows: audit.count) { db in try UserErasure(db: db).remove(audits: audit) }
        }
        for entries in traces.auditLog.parts(of: UserErasure.step) {
            try await write(rows: entries.count) { db in try UserErasure(db: db).remove(auditLog: entries)
            }
        }
        erased.auditEntries = traces.audits.count + traces.auditLog.count
        _ = try await eraseReferrals(of: user, in: project)
        for keys in traces.named.parts(of: UserErasure.step) {
            try await write(rows: keys.count) { db in try UserErasure(db: db).removeUser(of: keys) }
        }
        erased.isRewritten = try await rewrite()
        try await emptyLog()
        return erased
    }

    private func endRegistrations(
        of user: UserID, in project: ProjectID, at now: Timestamp
    ) async throws(StoreError) {
        var ended = UserErasure.step
        while ended == UserErasure.step {
            ended = try await write(rows: UserErasure.step, telling: .work(.interactive)) { db in
                let active = try RegistrationReader(db: db, project: project)
                    .of(user, after: 0, limit: UserErasure.step)
                let table = RegistrationTable(db: db)
                for registration in active {
                    try table.end(registration.key, RegistrationEnd(time: now, cause: .deleted))
                }
                return active.count
            }
        }
    }

    private func eraseMessages(of traces: UserTraces, _ search: UserSearch) async throws(StoreError)
        -> Int
    {
        var (count, next): (Int, Int64?) = (0, 0)
        while let after = next {
            let found = try await read { db in try search.messages(traces.keys, after: after, db) }
            let keys = try await read { db in try search.idempotencyKeys(of: found.messages, db) }
            for part in keys.parts(of: UserErasure.step) {
                try await write(rows: part.count) { db in
                    try UserErasure(db: db).remove(idempotencyKeys: part, of: search.project)
                }
            }
            for messages in found.messages.parts(of: UserErasure.step) {
                try await write(rows: messages.count) { db in
                    try UserErasure(db: db).remove(payloadsOf: messages)
                }
            }
            count += found.messages.count
            next = found.next
        }
        return count
    }

    private func eraseReceipts(of traces: UserTraces, _ search: UserSearch) async throws(StoreError)
        -> Int
    {
        var (count, next): (Int, Int64?) = (0, 0)
        while let after = next {
            let found = try await read { db in try search.receipts(traces.keys, after: after, db) }
            for receipts in found.receipts.parts(of: UserErasure.step) {
                try await write(rows: receipts.count) { db in
                    try UserErasure(db: db).remove(receipts: receipts)
                }
            }
            count += found.receipts.count
            next = found.next
        }
        return count
    }
}

extension Array {
    /// The elements in parts of a size, the last one perhaps smaller.
    fileprivate func parts(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
