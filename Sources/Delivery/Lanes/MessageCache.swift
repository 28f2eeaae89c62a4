import PushModel

/// The messages that a lane is working on, with the push of each app: built once, shared by all pages.
///
/// Bounded: beyond `limit` the message that was used longest ago goes.
struct MessageCache {
    /// A message and what it says to each app.
    struct Entry {
        /// The message.
        let message: Message
        /// By app as it was configured when the push was built, so that a change of its configuration takes effect.
        var pushes: [App: Result<ApplePush, InvalidMessage>] = [:]
        /// When the entry was last used, in uses of the cache.
        fileprivate var lastUse = 0
    }

    private let limit: Int
    private var entries: [MessageID: Entry] = [:]
    private var uses = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// The message, if it is here.
    mutating func message(_ id: MessageID) -> Message? {
        uses += 1
        entries[id]?.lastUse = uses
        return entries[id]?.message
    }

    /// Keeps a message.
    mutating func insert(_ message: Message) {
        if entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            entries[oldest.key] = nil
        }
        uses += 1
        entries[message.id] = Entry(message: message, lastUse: uses)
    }

    /// What a message says to an app, built at the first question.
    mutating func push(
        of message: Message, project: Project, app: App
    ) -> Result<ApplePush, InvalidMessage> {
        if let push = entries[message.id]?.pushes[app] { return push }
        let push = Result { () throws(InvalidMessage) in
            try ApplePush(
                message.content,
                in: ApplePush.Context(
                    message: message.id, projectNumber: project.number, broadcastTopic: message.topic, app: app,
                    expiresAt: message.expiresAt))
        }
        entries[message.id]?.pushes[app] = push
        return push
    }
}
