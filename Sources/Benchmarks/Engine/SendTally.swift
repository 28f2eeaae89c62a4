import HTTP2Client
import Synchronization

/// Counts ends, on loop threads.
final class SendTally: Sendable {
    fileprivate struct Counts {
        var accepted = 0
        var other = 0
        var failure: String?
        var deliveries = 0
        var whole = Histogram()
        var stream = Histogram()
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let expected: Int
    private let state = Mutex(Counts())

    init(expected: Int) {
        self.expected = expected
    }

    func note(_ completions: [RequestCompletion]) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.deliveries += 1
            for completion in completions { state.note(completion) }
            guard state.accepted + state.other == expected else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when all have ended.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.accepted + state.other == expected { return true }
                state.waiter = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    func report(seconds: Double, statistics: PoolStatistics) -> SendReport {
        state.withLock { state in
            let ended = Double(state.accepted + state.other)
            return SendReport(
                seconds: seconds, accepted: state.accepted, other: state.other, failure: state.failure,
                streamLatency: state.stream.percentiles,
                figures: EngineFigures(
                    wholeLatency: state.whole.percentiles, connections: statistics.connections,
                    dials: statistics.dials, pushesPerWakeUp: ended / Double(max(1, statistics.wakeUps)),
                    endsPerDelivery: ended / Double(max(1, state.deliveries))),
                bytesSent: statistics.bytesSent)
        }
    }
}

extension SendTally.Counts {
    fileprivate mutating func note(_ completion: RequestCompletion) {
        switch completion.exchange {
        case .answered(let response):
            if response.status == 200 {
                accepted += 1
            } else {
                other += 1
                failure = failure ?? "status \(response.status)"
            }
        case .notSent(let reason), .unanswered(let reason):
            other += 1
            failure = failure ?? reason.message
        }
        // One in sixteen is enough for percentiles, and costs the sender less.
        guard completion.index.isMultiple(of: 16) else { return }
        whole.add(completion.latency)
        if let latency = completion.streamLatency { stream.add(latency) }
    }
}
