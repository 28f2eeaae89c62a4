import Synchronization

/// What a loop is told from outside.
enum LoopMessage: Sendable {
    case openPool(PoolID, PoolConfiguration, TLSSource, PoolGate, EndpointDialBudget)
    /// The requests of `range`, which hold places in the pool's gate.
    case submit(PoolID, RequestBatch, Range<Int>)
    /// The latch opens once the pool is closed.
    case closePool(PoolID, within: Duration, Latch)
    case recycle(PoolID)
    /// From now on each stream of the pool is opened with these fields.
    case setFields(PoolID, RequestHead)
    /// Nothing waits for a connection any more.
    case windDown(PoolID)
    /// The submitters may not want everything any more that waits.
    case reconsider(PoolID)
    /// From now on the pool may have so many connections on this loop.
    case limitConnections(PoolID, Int)
    case resolved(ConnectionID, Result<[SocketAddress], TransportFailure>)
    case stop(within: Duration)
}

/// The way into a loop. Bounded by what may post: requests hold a place in their pool's gate, name lookups are one per
/// dial, and the rest are rare commands.
final class Mailbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var isClosed = false
        var wakeUps = 0
    }

    let wakeUp: EventDescriptor
    private let state = Mutex(State())

    init() throws(TransportFailure) {
        wakeUp = try EventDescriptor()
    }

    /// Posts a message and wakes the loop; `false` when the loop has ended.
    func post(_ message: LoopMessage) -> Bool {
        let (isAccepted, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            let mustWake = state.messages.count == 1
            if mustWake { state.wakeUps += 1 }
            return (true, mustWake)
        }
        if mustWake { wakeUp.signal() }
        return isAccepted
    }

    /// How often a message found the mailbox empty, and woke the loop.
    var wakeUps: Int { state.withLock { $0.wakeUps } }

    /// Takes all messages into the empty `messages`, whose memory serves the next ones.
    func take(into messages: inout [LoopMessage]) {
        wakeUp.acknowledge()
        state.withLock { swap(&$0.messages, &messages) }
    }

    /// Takes no more messages; the caller gets the last ones.
    func close() -> [LoopMessage] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}
