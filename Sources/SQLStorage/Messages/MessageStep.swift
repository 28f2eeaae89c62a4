import JSON
package import PushModel
package import Store

extension SQLStore: MessageStore {
    /// Commits messages with their work, together with whatever else waits for a commit. What can be made without the
    /// database (texts, packed lists) is made before.
    package func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] {
        let prepared = try messages.map { message throws(StoreError) in try PreparedMessage(message) }
        let change = messages.reduce(into: StoreChange()) { $0.formUnion(.work($1.lane)) }
        let (results, ends) = try await writeShared(
            WriteKind(accepting: prepared.count), rows: prepared.reduce(0) { $0 + $1.rows }, telling: change,
            lookingUp: LookUps(accepting: messages, worker: worker)
        ) { transaction in
            var step = try AcceptStep(transaction, worker: worker)
            let results = try prepared.map { try step.accept($0) }
            return (results, try step.finish())
        }
        keep(ends)
        if messages.contains(where: { !$0.links.isEmpty }) { linkClock.noteMade() }
        return results
    }

    /// A look at the primary key for each.
    package func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] {
        try await read { db in
            let table = IdempotencyTable(db: db, project: project)
            return try keys.map { try table.use(of: $0, at: time) }
        }
    }

    /// One message, its content read from the stored text as it was accepted: rules that are newer do not apply to it.
    package func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await read { db in try MessageTable(db: db).message(id, in: project) }
    }

    /// Some messages, each as ``message(_:in:)`` reads it.
    package func messages(_ ids: [MessageID], in project: ProjectID) async throws(StoreError) -> [Message] {
        try await read { db in
            let table = MessageTable(db: db)
            return try ids.compactMap { try table.message($0, in: project) }
        }
    }

    /// The counters that triggers keep, read with each commit.
    package var load: StoreLoad { committer.load }

    /// Counts in steps with the streams that fan-outs read; few steps run at the same time, for all callers together.
    package func audience(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int {
        try await audience(of: recipient, in: project, step: AudienceCounter.stepSize)
    }

    /// Reads the counts of topics that triggers keep.
    package func audienceBound(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int {
        try await read { db in try AudienceCounter(db: db, project: project).bound(recipient) }
    }

    /// - Parameter step: so many candidates are looked at in one snapshot.
    func audience(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID, step: Int
    ) async throws(StoreError) -> Int {
        var count = 0
        var place: Int64? = 0
        while let start = place {
            await audiences.enter()
            defer { audiences.leave() }
            let part = try await read { db in
                try AudienceCounter(db: db, project: project).count(recipient, after: start, limit: step)
            }
            count += part.count
            place = part.next
        }
        return count
    }

    /// Walks the index of times.
    package func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(IdempotencyTable.forget, [time.milliseconds, limit]) }
    }
}
