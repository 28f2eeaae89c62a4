import PushModel
import Synchronization

/// The messages that a lane is working on, with the push of each app: built once, shared by all pages.
///
/// Bounded: beyond `limit` the message that was used longest ago goes. Asked once for each page and app, not for each
/// push; may be asked from several claims at once.
final class MessageCache: Sendable {
    /// A message and what it says to each app.
    private struct Entry {
        let message: Message
        /// By app as it was configured when the push was built, so that a change of its configuration takes effect.
        var pushes: [App: Result<ApplePush, InvalidMessage>] = [:]
        /// When the entry was last used, in uses of the cache.
        var lastUse = 0
    }

    private struct State {
        var entries: [MessageID: Entry] = [:]
        var uses = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// The message, if it is here.
    func message(_ id: MessageID) -> Message? {
        state.withLock { state in
            state.uses += 1
            state.entries[id]?.lastUse = state.uses
            return state.entries[id]?.message
        }
    }

    /// Keeps a message.
    func insert(_ message: Message) {
        state.withLock { state in
            guard state.entries[message.id] == nil else { return }
            if state.entries.count >= limit,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.uses += 1
            state.entries[message.id] = Entry(message: message, lastUse: state.uses)
        }
    }

    /// What a message says to an app, built at the first question.
    func push(of message: Message, project: Project, app: App) -> Result<ApplePush, InvalidMessage> {
        if let push = state.withLock({ $0.entries[message.id]?.pushes[app] }) { return push }
        // Outside of the lock: two claims may build it at once, then the first one counts.
        let built = Result { () throws(InvalidMessage) in try ApplePush(message, project: project, app: app) }
        return state.withLock { state in
            guard state.entries[message.id] != nil else { return built }
            if let first = state.entries[message.id]?.pushes[app] { return first }
            state.entries[message.id]?.pushes[app] = built
            return built
        }
    }
}
