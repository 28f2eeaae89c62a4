package import PushModel
package import Store

extension SQLStore: UserStore {
    /// Ends what is active, so that nothing new is meant for the person; finds the rest beside the writer; removes it, the
    /// names at last, by which it is found; then cleans the files, which still hold what was there.
    package func erase(
        _ user: UserID, in project: ProjectID, standIn: UserID, at now: Timestamp
    ) async throws(StoreError) -> ErasedUser {
        try await endRegistrations(of: user, in: project, at: now)
        let search = UserSearch(user: user.rawValue, project: project.rawValue)
        let traces = try await read { db in try search.traces(db) }
        try await erase(traces.named) { erasure, keys in try erasure.removeAddresses(of: keys) }
        var erased = ErasedUser()
        erased.registrations = traces.named.count
        (erased.messages, erased.links) = try await eraseMessages(of: traces, search)
        erased.receipts = try await eraseReceipts(of: traces, search)
        erased.deviceGroups = try await erase(traces.keys.sorted()) { erasure, keys in
            try erasure.removeGroups(leftBy: keys, of: search.project)
        }
        let name = ErasedName(user: user.rawValue, standIn: standIn.rawValue)
        try await erase(traces.audits) { erasure, entries in try erasure.rename(name, inAudits: entries) }
        try await erase(traces.auditLog) { erasure, entries in try erasure.rename(name, inAuditLog: entries) }
        erased.auditEntries = traces.audits.count + traces.auditLog.count
        if try await eraseReferrals(of: user, in: project) > 0 {
            try await write { [engine] db in try engine.noteErasure(db) }
        }
        try await erase(traces.named) { erasure, keys in try erasure.removeUser(of: keys) }
        // What found nothing has no reason to write the whole file.
        let isDue = try await read { [engine] db in try engine.isCleaningDue(db) }
        if isDue || hasUncleanFiles { erased.obstacle = try await cleanFiles() }
        return erased
    }

    /// Erases some of what was found, in steps.
    ///
    /// - Returns: the sum of what the steps say.
    @discardableResult
    private func erase<Element: Sendable>(
        _ all: [Element], _ step: @escaping @Sendable (UserErasure, [Element]) throws -> Int
    ) async throws(StoreError) -> Int {
        var count = 0
        for start in stride(from: 0, to: all.count, by: UserErasure.step) {
            let part = Array(all[start..<min(start + UserErasure.step, all.count)])
            count += try await write(rows: part.count) { [engine] db in
                try engine.noteErasure(db)
                return try step(UserErasure(db: db), part)
            }
        }
        return count
    }

    private func endRegistrations(
        of user: UserID, in project: ProjectID, at now: Timestamp
    ) async throws(StoreError) {
        var ended = UserErasure.step
        while ended == UserErasure.step {
            ended = try await write(rows: UserErasure.step, telling: .work(.interactive)) { [engine] db in
                let active = try RegistrationReader(db: db, project: project)
                    .of(user, after: 0, limit: UserErasure.step)
                let table = RegistrationTable(db: db)
                for registration in active {
                    try table.end(registration.key, RegistrationEnd(time: now, cause: .deleted))
                }
                guard !active.isEmpty else { return 0 }
                // In the same step: the app may register again at once, and must not go on with what is erased.
                try engine.noteErasure(db)
                return try UserErasure(db: db).removeAddresses(of: active.map(\.key.rawValue))
            }
        }
    }

    /// - Returns: how many messages, and how many links of them.
    private func eraseMessages(
        of traces: UserTraces, _ search: UserSearch
    ) async throws(StoreError) -> (messages: Int, links: Int) {
        var (count, next): (Int, Int64?) = (0, 0)
        var links = 0
        while let after = next {
            let found = try await read { db in try search.messages(traces.keys, after: after, db) }
            let (keys, linked) = try await read { db in
                (
                    try search.idempotencyKeys(of: found.messages, db), try search.links(of: found.messages, db)
                )
            }
            try await erase(keys) { erasure, keys in try erasure.remove(idempotencyKeys: keys, of: search.project) }
            // Before the payloads: links are found by messages that still can be.
            try await eraseLinks(linked, search)
            try await erase(found.messages) { erasure, messages in try erasure.remove(payloadsOf: messages) }
            count += found.messages.count
            links += linked.count
            next = found.next
        }
        return (count, links)
    }

    private func eraseLinks(_ links: [Int64], _ search: UserSearch) async throws(StoreError) {
        for start in stride(from: 0, to: links.count, by: UserErasure.step) {
            // Each step is committed by itself, and counts whatever becomes of the next.
            defer { linkClock.noteChanged() }
            let part = Array(links[start..<min(start + UserErasure.step, links.count)])
            try await erase(part) { erasure, links in try erasure.removeTargets(of: links) }
        }
        let clicks = try await read { db in try search.clicks(on: links, db) }
        try await erase(clicks) { erasure, clicks in try erasure.remove(clicks: clicks) }
    }

    private func eraseReceipts(of traces: UserTraces, _ search: UserSearch) async throws(StoreError)
        -> Int
    {
        var (count, next): (Int, Int64?) = (0, 0)
        while let after = next {
            let found = try await read { db in try search.receipts(traces.keys, after: after, db) }
            try await erase(found.receipts) { erasure, receipts in try erasure.remove(receipts: receipts) }
            count += found.receipts.count
            next = found.next
        }
        return count
    }
}
