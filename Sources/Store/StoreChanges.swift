package import PushModel
import Synchronization

/// What a commit changed that others may have to know.
package struct StoreChange: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The interactive lane has new work.
    package static let interactiveWork = StoreChange(rawValue: 1 << 0)
    /// The bulk lane has new work.
    package static let bulkWork = StoreChange(rawValue: 1 << 1)
    /// There are new events.
    package static let events = StoreChange(rawValue: 1 << 2)
    /// An operator paused, resumed or cancelled a message.
    package static let control = StoreChange(rawValue: 1 << 3)
    /// API keys or service accounts changed.
    package static let keys = StoreChange(rawValue: 1 << 4)
    /// What waits of a project changed, see ``MessageStore/load``.
    package static let projects = StoreChange(rawValue: 1 << 5)
    /// Endpoints of webhooks changed.
    package static let webhooks = StoreChange(rawValue: 1 << 6)
    /// There is a newer version of the stored projects, see ``ProjectStore``.
    package static let storedProjects = StoreChange(rawValue: 1 << 7)
    /// A gateway that shares the store came, began to leave or left, see ``NodeStore``.
    package static let nodes = StoreChange(rawValue: 1 << 8)

    /// New work of a lane.
    package static func work(_ lane: Lane) -> StoreChange {
        switch lane {
        case .interactive: .interactiveWork
        case .bulk: .bulkWork
        }
    }
}

/// Changes as they are committed. What a reader has not taken yet is merged into one change: however slow it is, no more
/// than that waits for it.
package struct StoreChanges: AsyncSequence, Sendable {
    package typealias Element = StoreChange

    /// Receives what is posted from now on.
    package struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        fileprivate let receiver: ChangeReceiver

        /// The changes since the last call, merged; waits for one. `nil` when the task is cancelled.
        package mutating func next() async -> StoreChange? {
            await receiver.next()
        }

        /// As ``next()``.
        package mutating func next(isolation actor: isolated (any Actor)?) async -> StoreChange? {
            await receiver.next()
        }
    }

    fileprivate let source: ChangeSource

    /// Begins to receive.
    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(receiver: source.makeReceiver())
    }
}

/// Where a store of one process posts its changes. Safe to share; readers come and go.
package final class ChangeSource: Sendable {
    private struct Reader: Sendable {
        weak var receiver: ChangeReceiver?
    }

    private struct State {
        var next = 0
        var readers: [Int: Reader] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The changes from now on.
    package var changes: StoreChanges { StoreChanges(source: self) }

    /// Hands a change to all readers. Cheap when there are none; from any thread.
    package func post(_ change: StoreChange) {
        guard !change.isEmpty else { return }
        let receivers = state.withLock { state in state.readers.values.compactMap(\.receiver) }
        for receiver in receivers { receiver.receive(change) }
    }

    fileprivate func makeReceiver() -> ChangeReceiver {
        state.withLock { state in
            state.next += 1
            let receiver = ChangeReceiver(number: state.next, source: self)
            state.readers[state.next] = Reader(receiver: receiver)
            return receiver
        }
    }

    fileprivate func forget(_ number: Int) {
        state.withLock { $0.readers[number] = nil }
    }
}

/// One reader's changes.
private final class ChangeReceiver: Sendable {
    private struct State {
        var pending: StoreChange = []
        var waiter: CheckedContinuation<StoreChange?, Never>?
    }

    private let number: Int
    private let source: ChangeSource
    private let state = Mutex(State())

    init(number: Int, source: ChangeSource) {
        self.number = number
        self.source = source
    }

    deinit { source.forget(number) }

    func receive(_ change: StoreChange) {
        let (waiter, all): (CheckedContinuation<StoreChange?, Never>?, StoreChange) = state.withLock { state in
            state.pending.formUnion(change)
            guard let waiter = state.waiter else { return (nil, []) }
            defer { (state.waiter, state.pending) = (nil, []) }
            return (waiter, state.pending)
        }
        waiter?.resume(returning: all)
    }

    func next() async -> StoreChange? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let change: StoreChange?? = state.withLock { state in
                    if Task.isCancelled { return .some(nil) }
                    guard state.pending.isEmpty else {
                        defer { state.pending = [] }
                        return .some(state.pending)
                    }
                    state.waiter = continuation
                    return nil
                }
                if let change { continuation.resume(returning: change) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
