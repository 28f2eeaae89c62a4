package import PushModel
package import Store

extension SQLStore {
    /// Goes from route to route in the index of what waits.
    package func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes {
        try await read { db in try PendingTable(db: db).dueRoutes(lane, at: time) }
    }

    /// Reads beside the writer; nearly always that is all.
    package func bringForward(
        waitingBeyond limit: Timestamp, to time: Timestamp, count: Int
    ) async throws(StoreError) -> Int {
        let late = try await read { db in try PendingTable(db: db).waiting(beyond: limit, count: count) }
        guard !late.isEmpty else { return 0 }
        return try await write(.claim, rows: late.count) { db in
            for row in late {
                try db.change(PendingTable.bringForward, [time.milliseconds, row.message, row.key, row.notBefore])
            }
            return late.count
        }
    }

    /// Reads what is due beside the writer, with the registrations as they are now, then claims what no other worker claimed
    /// meanwhile.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        while true {
            let (changes, due) = try await read { db in
                (
                    try RegistrationChanges(db: db).number(),
                    try PendingTable(db: db).due(lane, route, limit: limit, at: time)
                )
            }
            guard !due.isEmpty else {
                try await read { db in try WorkerTable(db: db).check(worker) }
                return []
            }
            let (claimed, ownEnds) = try await write(.claim, rows: due.count) { db in
                try WorkerTable(db: db).check(worker)
                return try PendingTable(db: db).claim(due, readAt: changes, by: worker, at: time)
            }
            keep(ownEnds)
            // Rows that another worker took or that went to another route: what is behind them may be due as well.
            if !claimed.isEmpty { return claimed }
        }
    }

    /// As the other, with a look-up for each message.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        let (changes, due) = try await read { db in
            (
                try RegistrationChanges(db: db).number(),
                try PendingTable(db: db).due(lane, route, of: messages, at: time)
            )
        }
        guard !due.isEmpty else {
            try await read { db in try WorkerTable(db: db).check(worker) }
            return []
        }
        let (claimed, ownEnds) = try await write(.claim, rows: due.count) { db in
            try WorkerTable(db: db).check(worker)
            return try PendingTable(db: db).claim(due, readAt: changes, by: worker, at: time)
        }
        keep(ownEnds)
        return claimed
    }
}

extension PendingTable {
    /// Brings the registrations of what was read up to date with this transaction.
    ///
    /// - Parameter changes: the newest change of a registration that the snapshot showed.
    private func current(_ due: [Due], readAt changes: Int64) throws -> [Due] {
        guard let changed = try RegistrationChanges(db: db).after(changes) else { return due }
        var reader = DeliveryRegistrationReader(db: db)
        return try due.map { due in
            guard let before = due.delivery?.registration, changed.contains(before.key) else { return due }
            var due = due
            if let now = try reader.find(due.key) { due.delivery?.registration = now } else { due.delivery = nil }
            return due
        }
    }

    /// Claims those that still wait as they were read, with the registrations as they are now. A registration that is of
    /// another route by now waits there; what has no registration any more ends here.
    func claim(
        _ due: [Due], readAt changes: Int64, by worker: WorkerID, at time: Timestamp
    ) throws -> (claimed: [ClaimedDelivery], ended: OwnEnds) {
        let due = try current(due, readAt: changes)
        var claimed: [ClaimedDelivery] = []
        var gone: [Due] = []
        for due in due {
            guard !due.isHeld else {
                try db.change(Self.hold, [due.message, due.key])
                continue
            }
            if let other = due.otherRoute {
                let route = try RouteTable(db: db).id(of: other)
                try db.change(Self.moveToRoute, [route, due.message, due.key, due.route, due.notBefore])
                continue
            }
            let claim: SQLArguments = [worker.rawValue, due.message, due.key, due.route, due.notBefore]
            guard try db.change(Self.claim, claim) > 0 else { continue }
            if let delivery = due.delivery { claimed.append(delivery) } else { gone.append(due) }
        }
        guard !gone.isEmpty else { return (claimed, OwnEnds()) }
        var step = try SettleStep(db: db, worker: worker, newest: time)
        for due in gone { try step.endPurged(due, at: time) }
        _ = try step.finish()
        return (claimed, step.ownEnds)
    }
}
