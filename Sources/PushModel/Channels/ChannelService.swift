/// The push service's own list of broadcast channels, which is asked one request at a time.
///
/// Its answers are values: every call ends in what was asked for or in a ``ChannelFailure``.
package protocol ChannelService: Sendable {
    /// Makes a channel. Not idempotent: after ``ChannelFailure/Cause/unknown(_:)`` there may be one more.
    func create(_ policy: StoragePolicy, in home: ChannelHome) async -> Result<ChannelID, ChannelFailure>

    /// What is stored of a channel's publications.
    func storagePolicy(of id: ChannelID, in home: ChannelHome) async -> Result<StoragePolicy, ChannelFailure>

    /// The ids of all channels of an app.
    func channels(in home: ChannelHome) async -> Result<[ChannelID], ChannelFailure>

    /// Deletes a channel for good. What was stored may still go out.
    func delete(_ id: ChannelID, in home: ChannelHome) async -> Result<Void, ChannelFailure>
}

/// Why a question about channels has no answer.
package struct ChannelFailure: Error, Hashable, Sendable {
    /// How it ended.
    package enum Cause: Hashable, Sendable {
        /// The service refused it.
        case refused(Refusal)
        /// Provably not processed: ask again.
        case notSent(TransportCause)
        /// Sent, and no answer came: it may have been done.
        case unknown(TransportCause)
    }

    /// How it ended.
    package let cause: Cause
    /// What the reason means, a sentence for operators; `nil`: it is not known, or there is none.
    package let meaning: String?
    /// How long to wait at least, when the answer said so.
    package let retryAfter: Duration?

    /// Describes a failure.
    package init(_ cause: Cause, meaning: String? = nil, retryAfter: Duration? = nil) {
        self.cause = cause
        self.meaning = meaning
        self.retryAfter = retryAfter
    }

    /// Whether it may have been done all the same: no answer came, or one of a service that fails, which a front end may
    /// have given for it.
    package var mayBeDone: Bool {
        switch cause {
        case .notSent: false
        case .unknown: true
        case .refused(let refusal): [.load(.failure), .load(.service)].contains(refusal.scope)
        }
    }

    /// Whether the service has no such channel (any more).
    package var isUnknownChannel: Bool {
        guard case .refused(let refusal) = cause, case .addressDead = refusal.scope else { return false }
        return true
    }
}
