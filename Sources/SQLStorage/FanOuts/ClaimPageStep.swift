package import PushModel
package import Store

extension SQLStore {
    /// Walks the open shards of one project after the other; shards that have nothing to claim now are not in the index.
    package func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>, share: ShardShare
    ) async throws(StoreError) -> [OpenFanOut] {
        try await read { db in try FanOutTable(db: db).open(limitPerProject: limit, held: held, share: share) }
    }

    /// Reads the next recipients beside the writer, then writes the page in a small step of its own, unless another
    /// worker was faster.
    package func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim {
        guard limit > 0 else { return FanOutClaim(page: nil, isDone: false) }
        let offer = try await read { db in try FanOutTable(db: db).offer(of: fanOut, limit: limit, held: held) }
        let claim: FanOutClaim? =
            switch offer {
            case .nothing(let isDone): try await refusal(of: worker, isDone: isDone)
            case .released(let page):
                try await claim(page, by: worker, at: time)
            case .next(let shard, let candidates):
                try await write(.claim) { db in
                    try WorkerTable(db: db).check(worker)
                    return try FanOutTable(db: db).claim(candidates, of: shard, by: worker, at: time)
                }
            }
        return claim ?? FanOutClaim(page: nil, isDone: false, isOvertaken: true)
    }

    private func claim(
        _ page: FanOutTable.ReleasedPage, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim? {
        let (claim, ownEnds) = try await write(.claim) { db in
            try WorkerTable(db: db).check(worker)
            var ownEnds = OwnEnds()
            let claim = try FanOutTable(db: db).claim(page, by: worker, at: time, ending: &ownEnds)
            return (claim, ownEnds)
        }
        keep(ownEnds)
        return claim
    }

    private func refusal(of worker: WorkerID, isDone: Bool) async throws(StoreError) -> FanOutClaim {
        try await read { db in try WorkerTable(db: db).check(worker) }
        return FanOutClaim(page: nil, isDone: isDone)
    }
}

extension FanOutTable {
    /// Claims what was read, unless the shard changed since: then `nil`.
    func claim(
        _ candidates: Candidates, of shard: Shard, by worker: WorkerID, at time: Timestamp
    ) throws -> FanOutClaim? {
        let (message, number) = (shard.id.message, shard.id.shard)
        guard try isOpen(shard) else { return FanOutClaim(page: nil, isDone: true) }
        var candidates = candidates
        try candidates.update(of: shard, in: db)
        let count = candidates.registrations.count
        let isAtEnd = try candidates.isAtEnd && !hasMore(shard, after: candidates.cursor)
        let aside = candidates.setAside.filter { !$0.value.isEmpty }
        // Before this shard is done: with the last one that is not, it is forgotten which device tokens moved.
        guard try aside.isEmpty || isUnmoved(shard) else { return nil }
        for (route, keys) in aside { try setAside(keys, route, of: shard) }
        guard try moveCursor(of: shard, past: candidates, isAtEnd: isAtEnd) else { return nil }
        if isAtEnd { try db.change(Self.reopen, [message, number]) }
        guard count > 0 else {
            if isAtEnd { try MessageTable(db: db).endIfDone(message, at: time) }
            return FanOutClaim(page: nil, isDone: isAtEnd)
        }
        let keys = PackedKeys.data(candidates.registrations.map(\.key.rawValue))
        let id = FanOutPage.ID(
            rawValue: try db.insert(
                Self.insertPage, [message, number, worker.rawValue, count, count, KeyBitmap(count: count).bytes, keys],
                key: "id"))
        return FanOutClaim(
            page: page(id, shard, candidates.registrations, interruptions: 0), isDone: isAtEnd)
    }

    private func isUnmoved(_ shard: Shard) throws -> Bool {
        try db.number(Self.isUnmoved, [shard.id.message, shard.id.shard, shard.after]) != nil
    }

    /// Whether more was set aside for a shard than its snapshot showed.
    private func hasMore(_ shard: Shard, after cursor: Int64) throws -> Bool {
        guard shard.onlyRoute != nil else { return false }
        return try db.number(Self.moreSetAside, [shard.id.message, shard.id.shard, cursor]) != nil
    }

    /// Claims a page that was given back; what is beyond the limit of the claim becomes a page of its own. Recipients
    /// whose registrations were purged end here: there is no device to send to any more.
    ///
    /// - Parameter ownEnds: where those are counted.
    func claim(
        _ page: ReleasedPage, by worker: WorkerID, at time: Timestamp, ending ownEnds: inout OwnEnds
    ) throws -> FanOutClaim? {
        let shard = page.shard
        guard try isOpen(shard) else { return FanOutClaim(page: nil, isDone: true) }
        // Had another worker claimed it meanwhile and lost it, it would have one interruption more.
        let claimed = try db.change(Self.claimPage, [worker.rawValue, page.id.rawValue, page.interruptions])
        guard claimed > 0 else { return nil }
        if !page.rest.isEmpty { try divide(page) }
        try db.change(Self.reopen, [shard.id.message, shard.id.shard])
        if !page.purged.isEmpty {
            var step = try SettleStep(db: db, worker: worker, newest: time)
            for key in page.purged { try step.endPurged(key, of: page, at: time) }
            _ = try step.finish()
            ownEnds.add(step.ownEnds)
        }
        let isDone = try !isOpen(shard)
        guard !page.registrations.isEmpty else { return FanOutClaim(page: nil, isDone: isDone) }
        return FanOutClaim(
            page: self.page(page.id, shard, try current(page), interruptions: page.interruptions), isDone: isDone)
    }

    /// The registrations of a page as they are now: whom it goes to stays.
    private func current(_ page: ReleasedPage) throws -> [DeliveryRegistration] {
        guard let changed = try RegistrationChanges(db: db).after(page.changes) else { return page.registrations }
        var reader = DeliveryRegistrationReader(db: db)
        return try page.registrations.map { registration in
            guard changed.contains(registration.key) else { return registration }
            return try reader.find(registration.key.rawValue) ?? registration
        }
    }

    /// Leaves in a page what is claimed of it now, and makes a page of the rest. What it had settled is in the ledger.
    private func divide(_ page: ReleasedPage) throws {
        let keys = (page.registrations.map(\.key.rawValue) + page.purged).sorted()
        let count = keys.count
        try db.change(
            Self.insertReleased,
            [
                page.shard.id.message, page.shard.id.shard, page.rest.count, page.rest.count, page.interruptions,
                KeyBitmap(count: page.rest.count).bytes, PackedKeys.data(page.rest),
            ])
        try db.change(
            Self.keep, [count, count, KeyBitmap(count: count).bytes, PackedKeys.data(keys), page.id.rawValue])
    }

    private func page(
        _ id: FanOutPage.ID, _ shard: Shard, _ registrations: [DeliveryRegistration], interruptions: Int
    ) -> FanOutPage {
        FanOutPage(
            id: id, message: shard.message,
            deliveries: registrations.map { shard.delivery(to: $0, page: id, interruptions: interruptions) })
    }
}
