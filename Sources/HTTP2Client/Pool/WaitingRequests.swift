/// The requests of a pool that wait for a stream, and how they end without one. Loop-confined.
///
/// No method calls a connection: what opens or closes streams may end requests, which comes back here.
struct WaitingRequests {
    private let loop: EventLoop
    /// How long a request waits for a stream.
    private let patience: Int64
    /// How long after ``reconsider()`` requests are asked about as they come.
    private let reconsiderTime: Duration
    private let wantedTime: Int64
    private var queue = RequestQueue()
    /// Requests that left the queue in this turn of the loop.
    private var left = (urgent: 0, normal: 0)
    private var reconsidersUntil = Instant(nanoseconds: .min)

    init(of settings: PoolSettings, on loop: EventLoop) {
        self.loop = loop
        patience = settings.queueTimeout
        reconsiderTime = settings.configuration.reconsiderTime
        wantedTime = settings.configuration.wantedTime.wholeNanoseconds
    }

    private static let withdrawn = TransportFailure(.withdrawn, "not wanted any more")
    private static let closing = TransportFailure(.shutdown, "the pool is closing")

    var count: Int { queue.count }
    var isEmpty: Bool { queue.isEmpty }
    var hasUrgent: Bool { queue.hasUrgent }
    var hasNormal: Bool { queue.hasNormal }

    /// When the request that waits longest has waited too long; `nil`: none waits.
    var expiresAt: Instant? { queue.oldest?.adding(nanoseconds: patience) }

    /// Takes requests that came through the gate; a pool that is not open ends them.
    mutating func append(_ requestBatch: RequestBatch, _ range: Range<Int>, isOpen: Bool) {
        let batch = loop.makeBatch(requestBatch, count: range.count)
        let isDoubtful = loop.now < reconsidersUntil
        for index in range {
            let ticket = Ticket(batch: batch, index: index)
            if !isOpen {
                refuse(ticket, Self.closing)
            } else if isDoubtful || isOld(ticket), !ticket.isWanted {
                refuse(ticket, Self.withdrawn)
            } else {
                queue.append(ticket)
            }
        }
    }

    /// Ends what is not wanted any more. Requests that are on their way here were wanted when they set out: they are asked
    /// about for a while (``PoolConfiguration/reconsiderTime``).
    mutating func reconsider() {
        reconsidersUntil = loop.now.adding(reconsiderTime)
        for ticket in queue.take(where: { !$0.isWanted }) { refuse(ticket, Self.withdrawn) }
    }

    /// Takes a request for a stream; ``opened(_:isUrgent:)`` or ``putBack(_:)`` follows. One that has waited for long and is
    /// not wanted any more ends instead.
    mutating func popFirst(isUrgent: Bool) -> Ticket? {
        while let ticket = queue.popFirst(isUrgent: isUrgent) {
            guard isOld(ticket), !ticket.isWanted else { return ticket }
            refuse(ticket, Self.withdrawn)
        }
        return nil
    }

    private func isOld(_ ticket: Ticket) -> Bool {
        loop.now.elapsed(since: ticket.batch.requestBatch.submittedAt) >= wantedTime
    }

    /// There was no stream for a request.
    mutating func putBack(_ ticket: Ticket) { queue.putBack(ticket) }

    /// So many requests have a stream.
    mutating func opened(_ count: Int, isUrgent: Bool) {
        if isUrgent { left.urgent += count } else { left.normal += count }
    }

    /// Ends what has waited too long.
    mutating func expire(_ failure: TransportFailure) {
        let limit = loop.now.adding(nanoseconds: -patience)
        while let ticket = queue.popFirst(queuedBy: limit) { refuse(ticket, failure) }
    }

    /// Ends all but `limit`: those that came first go on waiting.
    mutating func cut(to limit: Int, _ failure: TransportFailure) {
        while queue.count > limit, let ticket = queue.popLast() { refuse(ticket, failure) }
    }

    /// Ends all: there is nothing to wait for.
    mutating func turnAway() {
        while let ticket = queue.popFirst() { refuse(ticket, Self.closing) }
    }

    /// How many left the queue since the last call.
    mutating func takeLeft() -> (urgent: Int, normal: Int) {
        defer { left = (0, 0) }
        return left
    }

    private mutating func refuse(_ ticket: Ticket, _ failure: TransportFailure) {
        opened(1, isUrgent: ticket.request.isUrgent)
        loop.end(ticket, .notSent(failure))
    }
}
