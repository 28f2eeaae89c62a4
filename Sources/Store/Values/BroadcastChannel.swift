package import PushModel

/// A broadcast channel as the gateway knows it, beside the push service's own list.
package struct BroadcastChannel: Hashable, Sendable {
    /// What is known of it.
    package enum State: Hashable, Sendable {
        /// The service was asked to make it, and the answer was not recorded (yet): when no request is at it any more, the
        /// service may have one that is called nothing here.
        case creating
        /// The service has it, as far as it said.
        case active
        /// The service said that it has no such channel, at this time: who subscribed has to subscribe to a new one.
        case lost(since: Timestamp)
    }

    /// Its app and environment.
    package var home: ChannelHome
    /// What senders call it.
    package var name: ChannelName
    /// What is stored of its publications.
    package var storagePolicy: StoragePolicy
    /// When it was asked for.
    package var createdAt: Timestamp
    /// The service's id; `nil` while it is being made.
    package var id: ChannelID?
    /// The registration that stands for it where messages are delivered; `nil` while it is being made.
    package var registration: RegistrationID?
    /// What is known of it.
    package var state: State

    /// Puts a channel together.
    package init(
        home: ChannelHome, name: ChannelName, storagePolicy: StoragePolicy, createdAt: Timestamp, id: ChannelID?,
        registration: RegistrationID?, state: State
    ) {
        self.home = home
        self.name = name
        self.storagePolicy = storagePolicy
        self.createdAt = createdAt
        self.id = id
        self.registration = registration
        self.state = state
    }
}

/// What came of the wish to make a channel.
package enum ChannelIntent: Hashable, Sendable {
    /// It was noted: the service may be asked now.
    case noted
    /// The name has an active channel.
    case exists(BroadcastChannel)
    /// The app has as many channels as it may have in this environment.
    case full(count: Int)
}

/// What came of a noted channel for which the service named an id.
package enum ChannelCompletion: Hashable, Sendable {
    /// It is active.
    case active(BroadcastChannel)
    /// Nothing of that name is being made (any more).
    case notNoted
    /// The id is that of the active channel of this name.
    case idTaken(ChannelName)
}

extension RegistrationID {
    private static let channelPrefix = "channel-"

    /// Whether it stands for a broadcast channel: those begin with a word that a random id has once in 2^48.
    package var isOfChannel: Bool { rawValue.hasPrefix(Self.channelPrefix) }

    /// A new id for a channel.
    package static func randomOfChannel() throws -> RegistrationID {
        let random = try RegistrationID.random().rawValue.suffix(22 - channelPrefix.utf8.count)
        guard let id = RegistrationID(rawValue: channelPrefix + random) else {
            throw StoreError.invalid("a channel's id")
        }
        return id
    }
}
