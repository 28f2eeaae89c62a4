import PushModel
import Store
import Traces

/// Results that are recorded together: of one worker, those of a page side by side and in the order of the page.
struct ResultBatch {
    /// Who claimed the deliveries.
    let worker: WorkerID
    /// What is to be recorded.
    private(set) var settlements: [Settlement] = []
    /// The lane of each.
    private(set) var lanes: [Lane] = []
    /// What ends a delivery while somebody waits for it, in place of its own result; by place, nearly always empty.
    private var ends: [Int: Settlement.Result] = [:]
    /// How often the store refused them.
    var failures = 0
    /// The traced messages among them.
    private(set) var traced: Set<MessageID> = []
    /// The spans of the batches that they come from.
    private(set) var sends: [SpanContext] = []

    init(of worker: WorkerID) {
        self.worker = worker
    }

    /// How many results there are.
    var count: Int { settlements.count }

    /// Adds a result.
    ///
    /// - Parameter end: what is recorded instead while somebody waits for the end.
    mutating func append(_ settlement: Settlement, in lane: Lane, orEnd end: Settlement.Result? = nil) {
        if let end { ends[settlements.count] = end }
        settlements.append(settlement)
        lanes.append(lane)
    }

    /// Notes the traced messages of a batch, as far as results of them are here.
    ///
    /// - Parameter start: the place of the batch's first result; its last is the last here.
    mutating func note(_ trace: SendTrace, from start: Int) {
        let isOnly = trace.messages.count == 1
        let messages = isOnly ? [] : Set(settlements[start...].lazy.map(\.delivery.message))
        sends.append(trace.context)
        for message in trace.messages where isOnly || messages.contains(message) { traced.insert(message) }
    }

    /// Notes the traced messages among results that needed no attempt.
    mutating func noteTraced(among settlements: [Settlement]) {
        for settlement in settlements where settlement.delivery.message.isTraced {
            traced.insert(settlement.delivery.message)
        }
    }

    /// Makes room for `count` more.
    mutating func reserve(_ count: Int) {
        settlements.reserveCapacity(settlements.count + count)
        lanes.reserveCapacity(lanes.count + count)
    }

    /// The results at some places.
    func part(_ places: Range<Int>, failures: Int) -> ResultBatch {
        var part = ResultBatch(of: worker)
        part.settlements = Array(settlements[places])
        part.lanes = Array(lanes[places])
        part.failures = failures
        (part.traced, part.sends) = (traced, sends)
        for (place, end) in ends where places.contains(place) { part.ends[place - places.lowerBound] = end }
        return part
    }

    /// Takes out what leaves a delivery open, or ends it for lack of time only: the next run comes to the same result.
    mutating func takeOpen() -> ResultBatch {
        var (open, rest) = (ResultBatch(of: worker), ResultBatch(of: worker))
        rest.failures = failures
        (rest.traced, rest.sends) = (traced, sends)
        for place in settlements.indices {
            let (settlement, lane) = (settlements[place], lanes[place])
            if settlement.result.isEnd {
                rest.append(settlement, in: lane, orEnd: ends[place])
            } else {
                open.append(settlement, in: lane, orEnd: ends[place])
            }
        }
        self = rest
        return open
    }

    /// Marks the ends that somebody waits for as being written, and puts those in place that are only for who waits.
    ///
    /// - Returns: what to tell, by message.
    mutating func beginWriting(for waiters: EndWaiters) -> [MessageID: DeliveryEnd] {
        guard !waiters.isEmpty else { return [:] }
        var told: [MessageID: DeliveryEnd] = [:]
        // What is waited for goes in this lane.
        for place in settlements.indices where lanes[place] == .interactive {
            guard case .ended(let entry) = ends[place] ?? settlements[place].result,
                waiters.beginWriting(settlements[place].delivery.message)
            else { continue }
            if let end = ends[place] { settlements[place].result = end }
            told[settlements[place].delivery.message] = DeliveryEnd(entry)
        }
        return told
    }

    /// Puts retries in place of ends that the store did not record as such, see ``Store/SettleResult/readdressed``.
    ///
    /// - Returns: the messages of these.
    mutating func readdress(_ places: [Int]) -> Set<MessageID> {
        var messages: Set<MessageID> = []
        for place in places {
            guard case .ended(let entry) = settlements[place].result else { continue }
            settlements[place].result = .retry(entry.history, notBefore: entry.time)
            messages.insert(settlements[place].delivery.message)
        }
        return messages
    }

    /// What comes back to the lanes: room by project, and when the first retry of a lane falls due.
    func returns() -> [Lane: LaneReturn] {
        var returns: [Lane: LaneReturn] = [:]
        var start = 0
        while start < count {
            let (lane, project) = (lanes[start], settlements[start].delivery.project)
            var end = start
            var due: Timestamp?
            while end < count, lanes[end] == lane, settlements[end].delivery.project == project {
                if case .retry(_, let notBefore) = settlements[end].result { due = min(due ?? notBefore, notBefore) }
                end += 1
            }
            var back = returns[lane] ?? LaneReturn()
            back.counts[project, default: 0] += end - start
            if let due { back.due = min(back.due ?? due, due) }
            returns[lane] = back
            start = end
        }
        return returns
    }
}

extension Settlement.Result {
    /// Whether it would be lost with the process: a push service's answer to a push.
    fileprivate var isEnd: Bool {
        switch self {
        case .ended(let entry): entry.outcome != .expired
        case .retry: false
        }
    }
}

/// What settled results give back to a lane.
struct LaneReturn {
    /// Room, by project.
    var counts: [ProjectID: Int] = [:]
    /// When the first retry falls due.
    var due: Timestamp?
}
