import PushModel
import Store
import Synchronization

/// The messages that a lane is working on, with the push of each app: read once and composed once, shared by all pages.
///
/// Bounded: beyond `limit` the message that was used longest ago goes. Messages that were just accepted wait beside them,
/// as many again, so that an accept displaces none that is being worked on. Asked once for each page and app, not for each push; may be asked from several claims at once.
final class MessageCache: Sendable {
    /// A message and what it says to each app.
    struct Entry {
        let message: Message
        let content: any MessageContent
        /// By app as it was configured when the push was composed, so that a change of its configuration takes effect.
        fileprivate var pushes: [App: Result<any ComposedPush, InvalidMessage>] = [:]
        /// When the entry was last used, in uses of the cache.
        fileprivate var lastUse = 0

        /// A message that was read for one delivery, and is not kept.
        init(once message: Message, _ content: any MessageContent) {
            self.message = message
            self.content = content
        }

        fileprivate init(
            message: Message, content: any MessageContent,
            pushes: [App: Result<any ComposedPush, InvalidMessage>] = [:], lastUse: Int = 0
        ) {
            self.message = message
            self.content = content
            self.pushes = pushes
            self.lastUse = lastUse
        }
    }

    private struct State {
        var entries: [MessageID: Entry] = [:]
        /// Just accepted, and what no page was claimed of yet.
        var accepted: [MessageID: Entry] = [:]
        var uses = 0

        mutating func use(_ entry: Entry) {
            uses += 1
            entries[entry.message.id] = entry
            entries[entry.message.id]?.lastUse = uses
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// The message with what it says, if it is here.
    func entry(_ id: MessageID) -> Entry? {
        state.withLock { state in
            if let entry = state.entries[id] {
                state.use(entry)
                return entry
            }
            guard let entry = state.accepted.removeValue(forKey: id) else { return nil }
            insert(entry, into: &state)
            return entry
        }
    }

    /// Whether a message is here.
    func contains(_ id: MessageID) -> Bool {
        state.withLock { $0.entries[id] != nil || $0.accepted[id] != nil }
    }

    /// Keeps a message that was read from the store; of two claims that read it at once the first one counts.
    func insert(_ message: Message, _ content: any MessageContent) -> Entry {
        state.withLock { state in
            if let first = state.entries[message.id] { return first }
            let entry = Entry(message: message, content: content)
            insert(entry, into: &state)
            return entry
        }
    }

    /// Keeps a message that was just accepted, with what was composed for its checks, until its first page is claimed.
    func insertAccepted(_ message: Message, _ content: any MessageContent, _ pushes: [App: any ComposedPush]) {
        state.withLock { state in
            Self.makeRoom(in: &state.accepted, limit: limit)
            state.uses += 1
            state.accepted[message.id] = Entry(
                message: message, content: content, pushes: pushes.mapValues { .success($0) }, lastUse: state.uses)
        }
    }

    private func insert(_ entry: Entry, into state: inout State) {
        Self.makeRoom(in: &state.entries, limit: limit)
        state.use(entry)
    }

    private static func makeRoom(in entries: inout [MessageID: Entry], limit: Int) {
        guard entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
            return
        }
        entries[oldest.key] = nil
    }

    /// What a message says to an app, composed at the first question.
    func push(
        of entry: Entry, project: Project, app: App, composer: any PushComposer
    ) -> Result<any ComposedPush, InvalidMessage> {
        let id = entry.message.id
        if let push = state.withLock({ $0.entries[id]?.pushes[app] }) { return push }
        // Outside of the lock: two claims may compose it at once, then the first one counts.
        let composed = Result { () throws(InvalidMessage) in
            try composer.compose(
                entry.content, in: PushContext(entry.message, entry.content, project: project, app: app))
        }
        return state.withLock { state in
            guard state.entries[id] != nil else { return composed }
            if let first = state.entries[id]?.pushes[app] { return first }
            state.entries[id]?.pushes[app] = composed
            return composed
        }
    }
}

extension PushContext {
    /// What a message's push for an app depends on.
    fileprivate init(_ message: Message, _ content: any MessageContent, project: Project, app: App) {
        var isOfChannel = false
        if case .registration(let id) = message.recipient { isOfChannel = id.isOfChannel }
        self.init(
            message: message.id, projectNumber: project.number, broadcastTopic: message.topic,
            isForMany: message.recipient.isMany,
            collapsesRepeats: message.options.collapsesRepeats,
            // What was accepted fits the channel's policy, whichever it has.
            broadcast: isOfChannel ? .mostRecent : nil, app: app,
            expiresAt: message.expiry(of: content, on: app.platform).time, acceptedAt: message.acceptedAt)
    }
}
