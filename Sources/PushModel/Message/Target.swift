/// To whom a message goes. Exactly one of FCM's targets.
public enum Target: Hashable, Sendable {
    /// One registration, by the token that senders hold (`token`; during FCM's transition it may be a FID).
    case token(String)
    /// One registration, by its FID (`fid`).
    case registration(RegistrationID)
    /// All that subscribe to a topic (`topic`).
    case topic(Topic)
}

/// Which of two queues a push waits in, so that a one-time password never waits behind a broadcast.
public enum Lane: String, Hashable, Sendable, CaseIterable {
    /// Messages to one device.
    case interactive
    /// Fan-outs.
    case bulk
}
