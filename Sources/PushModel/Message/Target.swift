/// To whom a message goes. Exactly one of FCM's targets, or the gateway's own `target.user`.
package enum Target: Hashable, Sendable {
    /// One registration, by the token that senders hold (`token`; during FCM's transition it may be a FID).
    case token(String)
    /// One registration, by its FID (`fid`).
    case registration(RegistrationID)
    /// All that subscribe to a topic (`topic`).
    case topic(Topic)
    /// All for whom a condition over topics holds (`condition`).
    case condition(Condition)
    /// All active registrations of a user (`target.user`, beside `message`).
    case user(UserID)
    /// All that subscribe to a broadcast channel (`target.channel`, beside `message`).
    case channel(ChannelTarget)
}

/// A broadcast channel as a sender names it.
package struct ChannelTarget: Hashable, Sendable {
    /// Its name.
    package var name: ChannelName
    /// The bundle id of its app; `nil`: the project's only one.
    package var app: String?
    /// Its environment; `nil`: the app's own.
    package var environment: String?

    /// Names a channel.
    package init(name: ChannelName, app: String?, environment: String?) {
        self.name = name
        self.app = app
        self.environment = environment
    }
}

/// Which of two queues a push waits in, so that a one-time password never waits behind a broadcast.
package enum Lane: String, Hashable, Sendable, CaseIterable {
    /// Messages of high priority (`apns-priority: 10`) to a single device, or to a hundred at most.
    case interactive
    /// Fan-outs, and what is not urgent.
    case bulk
}
