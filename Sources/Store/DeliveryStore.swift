package import PushModel

/// The work that accepted messages make, and its results.
///
/// Leases are counted by the store's own clock, which goes on steadily and which all its processes share: a caller says how
/// long a lease lasts, never when it ends.
///
/// A claim belongs to a worker: it ends with ``settle(_:by:)``, or with ``takeOver(at:)`` after the worker's lease ran
/// out. Between the two, the claimed deliveries count as in flight. A worker whose lease was taken over gets
/// ``StoreError/Code-swift.enum/fenced`` for whatever it asks: it drops what it has and enrols anew.
package protocol DeliveryStore: TrafficStore {
    /// Makes a new worker.
    ///
    /// - Parameters:
    ///   - name: for operators: host and process.
    ///   - lease: how long its lease lasts, from now on.
    func enroll(_ name: String, for lease: Duration) async throws(StoreError) -> WorkerID

    /// Extends a worker's lease to `lease` from now on; it never gets shorter.
    func renew(_ worker: WorkerID, for lease: Duration) async throws(StoreError)

    /// Ends workers whose lease ran out, and gives back what they had claimed and not settled. A store that only one
    /// process can open ends all workers of earlier processes, whatever their lease.
    ///
    /// Each of these deliveries may have been sent without its answer being recorded: it counts as one more attempt, an
    /// unknown one and an interruption, with ``TransportCause/interrupted`` as its last cause. All of them are due at
    /// `time` at the latest. Routes that no other worker pauses are resumed.
    ///
    /// - Returns: how many deliveries were given back.
    func takeOver(at time: Timestamp) async throws(StoreError) -> Int

    /// Shards with recipients left to claim whose messages are active, by project, the oldest messages first. Pages
    /// that ``takeOver(at:)`` gave back count as part of their shard.
    ///
    /// No message hides the ones after it: of each there are at most ``OpenFanOut/shardsPerMessage`` shards; paced
    /// messages are not counted against `limit`; and of the shards for a route that is held there is only the oldest,
    /// to try the route with. Of a message without a pace there are, beside that one, shards of `share` alone as long as any of
    /// them is open, and else those of other nodes.
    ///
    /// - Parameters:
    ///   - limit: the most messages of each project that are not paced and have shards of `share`; as many of other nodes and
    ///     ``OpenFanOut/pacedLimit`` paced ones may come beside them.
    ///   - held: routes that nothing is to be taken for.
    ///   - share: whose shards come first.
    func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>, share: ShardShare
    ) async throws(StoreError) -> [OpenFanOut]

    /// Claims the next page of a shard; pages that were given back come first, with the recipients that they had. It is tried
    /// once: when another worker was faster, ``FanOutClaim/isOvertaken`` says so.
    ///
    /// - Parameters:
    ///   - held: routes of the project that nothing is to be taken for. Recipients of these are not claimed: those that
    ///     are come by are set aside for a shard of that route, see ``OpenFanOut/route``.
    ///   - limit: the most recipients.
    func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim

    /// The routes of a lane that have deliveries due at `time`; messages that are paused have none.
    func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes

    /// Claims up to `limit` single deliveries and retries of a lane and route that are due at `time`, the longest due
    /// first.
    func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery]

    /// Claims the same of certain messages, to one registration each, and of no others: what of them is not due, or not
    /// of this lane and route, is left out.
    func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery]

    /// Records results in one transaction: ledger entries, retries, what was learned about registrations, page
    /// progress, completed messages. A retry of a cancelled message ends as cancelled. An end by a device token that the
    /// registration does not have any more is a retry, while the message lives.
    ///
    /// - Returns: messages that are complete with this step, those whose settlements changed nothing, and what goes to
    ///   another device token.
    func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult

    /// Makes deliveries due at `time` that wait for a moment after `limit`, at most `count` of them: no back-off is so
    /// long, so the clock that made them wait was wrong.
    ///
    /// - Returns: how many; fewer than `count`: no other waits so long.
    func bringForward(waitingBeyond limit: Timestamp, to time: Timestamp, count: Int) async throws(StoreError) -> Int

    /// Ends the pauses of messages whose time has run out, at most `limit`: what they have open ends as expired, like that
    /// of any other message.
    ///
    /// - Returns: how many pauses ended; fewer than `limit`: no other is to end.
    func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int

    /// Sets times in the store back to `now` that are hours ahead of it: a clock that was wrong gave them. They are those by
    /// which exports and the ends of registrations go.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func clampTimes(to now: Timestamp) async throws(StoreError) -> Bool

    /// Books what cancelled messages have left as cancelled, at most `limit` deliveries in one step.
    ///
    /// - Returns: how many were booked; fewer than `limit`: nothing is left.
    func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int

    /// Ends as expired what is unclaimed of messages whose time has run out, at most `limit` deliveries in one step:
    /// also what no claim comes to, because its route is held or its message has a pace. A retry that is to probe the
    /// other environment is left to its claim.
    ///
    /// - Returns: how many were booked; fewer than `limit`: nothing is left.
    func bookExpired(limit: Int, at time: Timestamp) async throws(StoreError) -> Int

    /// What the store ended by itself since this was last asked, in this process: what ``settle(_:by:)`` was told to end is
    /// not among it. For counters; what is not asked for before the process ends is in the ledger alone.
    func takeOwnEnds() async -> [StoreEnds]

    /// How much is waiting, by lane (for gauges): deliveries in flight or waiting for an attempt, and what running
    /// fan-outs have still to claim by the estimate of accept.
    func backlog() async throws(StoreError) -> [Lane: Int]
}

extension DeliveryStore {
    /// ``openFanOuts(limitPerProject:held:share:)`` where there is no other node.
    package func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute> = []
    ) async throws(StoreError) -> [OpenFanOut] {
        try await openFanOuts(limitPerProject: limit, held: held, share: .all)
    }
}
