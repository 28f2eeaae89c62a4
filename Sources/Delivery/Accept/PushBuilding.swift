import PushModel

extension ApplePush {
    /// Builds what a message says to the devices of `app`.
    convenience init(_ message: Message, project: Project, app: App) throws(InvalidMessage) {
        try self.init(
            message.content,
            in: Context(
                message: message.id, projectNumber: project.number, broadcastTopic: message.topic,
                isForMany: message.isForMany, collapsesRepeats: message.options.collapsesRepeats, app: app,
                expiresAt: message.expiresAt))
    }
}

extension Message {
    /// Whether its target may be more than one registration.
    fileprivate var isForMany: Bool {
        if case .registration = recipient { false } else { true }
    }
}
