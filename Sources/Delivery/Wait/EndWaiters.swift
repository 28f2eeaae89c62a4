import Metrics
import PushModel
package import Store
import Synchronization

/// How a delivery ended, for a caller who waited for it.
package struct DeliveryEnd: Hashable, Sendable {
    /// The outcome.
    package var outcome: LedgerOutcome
    /// Apple's reason, or ours; `nil` for accepted ones.
    package var reason: String?

    /// The reason of a push that was refused by a 410 whose time lies before the last refresh of the registration: that
    /// stays, and its token is not to be forgotten.
    package static let unregisteredEarlier = "UnregisteredEarlier"

    /// Describes an end.
    package init(outcome: LedgerOutcome, reason: String?) {
        self.outcome = outcome
        self.reason = reason
    }

    init(_ entry: LedgerEntry) {
        self.init(outcome: entry.outcome, reason: entry.reason)
    }
}

/// Who waits for the end of a delivery: callers of single sends, by the message's id. Safe to share.
///
/// A caller enters before its message is committed, so that no end is missed. The settler asks here before it writes an
/// end, and tells the result afterwards. Between the two the caller can't withdraw: so an end that is written only
/// because somebody waits for it (``OpenDelivery/endForWaiter(_:isAttempt:at:)``) is told to whom it was written for. A
/// caller whose time is over withdraws; what becomes of the delivery from then on is as if no caller had waited. Only a write
/// that takes longer than ``writeLimit`` is not waited for.
///
/// Where several gateways share a store another one may record the end: it is looked for in the ledger (``lookedFor()``,
/// ``found(_:)``).
///
/// A push without a waiting caller costs nothing: it has no task and no entry.
final class EndWaiters: Sendable {
    /// The most callers that wait at a time; further ones have their answer at once.
    static let limit = 10_000
    /// How long a caller whose time is over waits for a write that has begun.
    static let writeLimit: Duration = .seconds(5)

    private enum State {
        /// The delivery is open. Next: writing, or the waiter leaves.
        case open
        /// Its end is being written. Next: ended; open when the write failed, or released if the time is over.
        case writing(isOverdue: Bool)
        /// Its end is committed.
        case ended(DeliveryEnd)
        /// No answer will come.
        case released
    }

    private struct Waiter {
        var state = State.open
        /// Whether it waited at the look before.
        var isLong = false
        let signal = AutoResetEvent()
    }

    private struct Table {
        var waiters: [MessageID: Waiter] = [:]
        var isStopped = false
    }

    private let table = Mutex(Table())
    /// Callers that wait: asked for each batch of results without the lock.
    private let count = Atomic(0)
    private let gauge = Gauge(label: MetricName.waitingSends.rawValue)

    /// Whether no caller waits.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }
}

// MARK: - The caller

extension EndWaiters {
    /// Enters a caller who is going to wait for a message that is about to be committed. ``end(of:atMost:on:)`` or
    /// ``leave(_:)`` follows.
    ///
    /// - Returns: `false` when there is no room, or the gateway stops: the caller does not wait.
    @discardableResult
    func enter(_ message: MessageID) -> Bool {
        let waiting = table.withLock { table -> Int? in
            guard !table.isStopped, table.waiters.count < Self.limit else { return nil }
            table.waiters[message] = Waiter()
            count.store(table.waiters.count, ordering: .releasing)
            return table.waiters.count
        }
        guard let waiting else { return false }
        gauge.record(waiting)
        return true
    }

    /// Forgets a caller.
    func leave(_ message: MessageID) {
        _ = take(message)
    }

    /// Waits until the delivery has ended and its end is committed, and forgets the caller.
    ///
    /// - Returns: `nil` when it had not ended after `limit`, when the gateway stops or the task is cancelled, and at
    ///   once when no caller entered for the message.
    func end(of message: MessageID, atMost limit: Duration, on clock: any Clock<Duration>) async -> DeliveryEnd? {
        guard let signal = table.withLock({ $0.waiters[message]?.signal }) else { return nil }
        await signal.wait(atMost: limit, on: clock)
        if isBeingWritten(message) { await signal.wait(atMost: Self.writeLimit, on: clock) }
        guard case .ended(let end) = take(message) else { return nil }
        return end
    }

    /// Whether the end is being written, now that the caller's time is over; if it is not, the caller is withdrawn.
    private func isBeingWritten(_ message: MessageID) -> Bool {
        table.withLock { table in
            switch table.waiters[message]?.state {
            case .writing:
                table.waiters[message]?.state = .writing(isOverdue: true)
                return true
            case .open:
                table.waiters[message]?.state = .released
                return false
            case .ended, .released, nil: return false
            }
        }
    }

    private func take(_ message: MessageID) -> State? {
        let (state, left) = table.withLock { table in
            let state = table.waiters.removeValue(forKey: message)?.state
            count.store(table.waiters.count, ordering: .releasing)
            return (state, table.waiters.count)
        }
        if state != nil { gauge.record(left) }
        return state
    }

    /// Releases the callers whose end is not being written, and takes no new ones: the gateway stops.
    func stop() {
        let signals = table.withLock { table in
            table.isStopped = true
            var signals: [AutoResetEvent] = []
            for (message, waiter) in table.waiters {
                guard case .open = waiter.state else { continue }
                table.waiters[message]?.state = .released
                signals.append(waiter.signal)
            }
            return signals
        }
        for signal in signals { signal.raise() }
    }
}

// MARK: - The settler

extension EndWaiters {
    /// Whether a caller waits for this delivery.
    func isAwaited(_ message: MessageID) -> Bool {
        guard !isEmpty else { return false }
        return table.withLock { table in
            if case .open = table.waiters[message]?.state { true } else { false }
        }
    }

    /// The end of a delivery is going to be written; ``wrote(_:)`` or ``failedToWrite(_:)`` follows.
    ///
    /// - Returns: `false` when no caller waits for it.
    func beginWriting(_ message: MessageID) -> Bool {
        table.withLock { table in
            guard case .open = table.waiters[message]?.state else { return false }
            table.waiters[message]?.state = .writing(isOverdue: false)
            return true
        }
    }

    /// The deliveries to look for in the ledger: those whose callers waited at the last call already. Others end here in the
    /// meantime, nearly all of them.
    ///
    /// - Returns: whether there are others: they are among those of the next call.
    func lookedFor() -> (messages: [MessageID], hasOthers: Bool) {
        guard !isEmpty else { return ([], false) }
        return table.withLock { table in
            var (messages, hasOthers): ([MessageID], Bool) = ([], false)
            for (message, waiter) in table.waiters {
                guard case .open = waiter.state else { continue }
                if waiter.isLong { messages.append(message) } else { hasOthers = true }
                table.waiters[message]?.isLong = true
            }
            return (messages, hasOthers)
        }
    }

    /// These ends are in the ledger: another gateway recorded them. One that is being written here is told by who writes it.
    func found(_ ends: [MessageID: DeliveryEnd]) {
        let signals = table.withLock { table in
            ends.compactMap { message, end -> AutoResetEvent? in
                guard case .open = table.waiters[message]?.state else { return nil }
                table.waiters[message]?.state = .ended(end)
                return table.waiters[message]?.signal
            }
        }
        for signal in signals { signal.raise() }
    }

    /// These ends are committed.
    func wrote(_ ends: [MessageID: DeliveryEnd]) {
        guard !ends.isEmpty else { return }
        let signals = table.withLock { table in
            ends.compactMap { message, end -> AutoResetEvent? in
                guard let signal = table.waiters[message]?.signal else { return nil }
                table.waiters[message]?.state = .ended(end)
                return signal
            }
        }
        for signal in signals { signal.raise() }
    }

    /// Nothing was written: callers that still have time go on waiting.
    func failedToWrite(_ ends: [MessageID: DeliveryEnd]) {
        guard !ends.isEmpty else { return }
        let signals = table.withLock { table in
            ends.keys.compactMap { message -> AutoResetEvent? in
                guard case .writing(let isOverdue) = table.waiters[message]?.state else { return nil }
                // Who comes to wait when the gateway stops meanwhile is not kept either.
                let isReleased = isOverdue || table.isStopped
                table.waiters[message]?.state = isReleased ? .released : .open
                return isReleased ? table.waiters[message]?.signal : nil
            }
        }
        for signal in signals { signal.raise() }
    }
}
