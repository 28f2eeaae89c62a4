import DequeModule

/// What `submit` was given. Shared by caller and loop; never changes.
final class RequestBatch: Sendable {
    let requests: [Request]
    /// Asked on the loop when the submitter changed its mind, and before a request goes that has waited for long
    /// (``PoolConfiguration/wantedTime``); `nil`: everything is wanted.
    let isWanted: (@Sendable (_ index: Int) -> Bool)?
    let completion: @Sendable ([RequestCompletion]) -> Void
    let submittedAt: Instant

    init(
        requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)? = nil,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) {
        self.requests = requests
        self.isWanted = isWanted
        self.completion = completion
        submittedAt = .now()
    }

    /// Nothing: what a batch has that waits to be used again.
    static let none = RequestBatch(requests: []) { _ in }

    /// Ends the requests of `range` on the calling thread: for what never reached a loop.
    func fail(_ range: Range<Int>, _ failure: TransportFailure) {
        guard !range.isEmpty else { return }
        let latency = Duration.nanoseconds(Instant.now().elapsed(since: submittedAt))
        completion(range.map { RequestCompletion(index: $0, exchange: .notSent(failure), latency: latency) })
    }
}

/// The part of a batch that came through the gate at once, on its loop. Gathers how its requests ended, so that
/// one turn of the loop makes one call. Loop-confined.
///
/// The loop uses batches again, and with them the memory of their lists.
final class BatchPart {
    private(set) var requestBatch: RequestBatch
    private(set) var queuedAt: Instant
    /// Requests that did not end yet.
    private var open: Int
    private var ended: [RequestCompletion] = []

    /// `count`: requests of `batch` that the batch has.
    init(requestBatch: RequestBatch, count: Int, queuedAt: Instant) {
        self.requestBatch = requestBatch
        self.queuedAt = queuedAt
        open = count
    }

    /// Begins anew, after ``deliver()`` said that all had ended.
    func reset(requestBatch: RequestBatch, count: Int, queuedAt: Instant) {
        self.requestBatch = requestBatch
        self.queuedAt = queuedAt
        open = count
    }

    /// Notes how a request ended; `true` for the first one since ``deliver()``.
    func add(_ ticket: Ticket, _ exchange: Exchange, now: Instant) -> Bool {
        open -= 1
        ended.append(
            RequestCompletion(
                index: ticket.index, exchange: exchange,
                latencyNanoseconds: now.elapsed(since: requestBatch.submittedAt),
                streamNanoseconds: ticket.openedAt.map { now.elapsed(since: $0) }))
        return ended.count == 1
    }

    /// Hands the noted ends to the caller. `true`: these were the last, and the batch is let go.
    func deliver() -> Bool {
        requestBatch.completion(ended)
        // The memory serves again, unless the caller kept the array.
        ended.removeAll(keepingCapacity: true)
        if open == 0 { requestBatch = .none }
        return open == 0
    }
}

/// A request's claim to be ended exactly once: the code that takes the ticket out of the queue or a stream ends it.
struct Ticket {
    let batch: BatchPart
    let index: Int
    /// The turn of the loop that opened its stream; `nil` while it waits for one.
    var openedAt: Instant?

    var request: Request {
        _read { yield batch.requestBatch.requests[index] }
    }

    /// Whether the submitter still wants it sent.
    var isWanted: Bool { batch.requestBatch.isWanted?(index) ?? true }
}

/// Requests that wait for a stream: urgent ones first, otherwise in order.
///
/// All wait equally long, so in each lane the first is the first to run out of time.
struct RequestQueue {
    private var urgent: Deque<Ticket> = []
    private var normal: Deque<Ticket> = []

    var count: Int { urgent.count + normal.count }
    var isEmpty: Bool { urgent.isEmpty && normal.isEmpty }

    /// When the request that waits longest came.
    var oldest: Instant? {
        switch (urgent.first?.batch.queuedAt, normal.first?.batch.queuedAt) {
        case (let left?, let right?): min(left, right)
        case (let only?, nil), (nil, let only?): only
        case (nil, nil): nil
        }
    }

    mutating func append(_ ticket: Ticket) {
        if ticket.request.isUrgent { urgent.append(ticket) } else { normal.append(ticket) }
    }

    var hasUrgent: Bool { !urgent.isEmpty }
    var hasNormal: Bool { !normal.isEmpty }

    mutating func popFirst() -> Ticket? { urgent.popFirst() ?? normal.popFirst() }

    mutating func popFirst(isUrgent: Bool) -> Ticket? { isUrgent ? urgent.popFirst() : normal.popFirst() }

    /// Takes those out for which `isChosen` holds.
    mutating func take(where isChosen: (Ticket) -> Bool) -> [Ticket] {
        var taken: [Ticket] = []
        func isTaken(_ ticket: Ticket) -> Bool {
            guard isChosen(ticket) else { return false }
            taken.append(ticket)
            return true
        }
        urgent.removeAll(where: isTaken)
        normal.removeAll(where: isTaken)
        return taken
    }

    /// Takes the request that came last; urgent ones when there are no others.
    mutating func popLast() -> Ticket? { normal.popLast() ?? urgent.popLast() }

    /// Puts back what was just taken.
    mutating func putBack(_ ticket: Ticket) {
        if ticket.request.isUrgent { urgent.prepend(ticket) } else { normal.prepend(ticket) }
    }

    /// Takes a request that came at `limit` or before.
    mutating func popFirst(queuedBy limit: Instant) -> Ticket? {
        if let first = urgent.first, first.batch.queuedAt <= limit { return urgent.popFirst() }
        if let first = normal.first, first.batch.queuedAt <= limit { return normal.popFirst() }
        return nil
    }
}
