/// The id that a push service gave a broadcast channel: an app that knows it can subscribe, a holder
/// of the app's credential publish. Opaque text, as Apple's base64 with `/`, `+` and `=`.
package struct ChannelID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The longest id that is taken; Apple's have no fixed length.
    package static let limitBytes = 512

    /// The id as the service writes it.
    package let rawValue: String

    /// Takes 1 to 512 visible ASCII characters.
    package init?(rawValue: String) {
        guard (1...Self.limitBytes).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.rawValue = rawValue
    }

    /// The id.
    package var description: String { rawValue }
}

/// What a push service keeps of a channel's publications. It can't be changed: delete the channel and make another.
package enum StoragePolicy: String, Hashable, Sendable, CaseIterable {
    /// Nothing: only devices that are connected get a publication. More may be published.
    case none = "NONE"
    /// The newest, for up to 8 hours: who subscribes late gets the present state at once.
    case mostRecent = "MOST_RECENT"
}

/// Where a broadcast goes.
package struct BroadcastAddress: Hashable, Sendable {
    /// The channel.
    package var id: ChannelID
    /// Where it lives: channels do not cross environments.
    package var environment: PushEnvironment
    /// What is stored of its publications.
    package var storagePolicy: StoragePolicy

    /// Names a channel.
    package init(id: ChannelID, environment: PushEnvironment, storagePolicy: StoragePolicy) {
        self.id = id
        self.environment = environment
        self.storagePolicy = storagePolicy
    }
}

/// Where channels live: names and ids are an app's, in one environment.
package struct ChannelHome: Hashable, Sendable {
    /// The project.
    package var project: ProjectID
    /// The app, whose bundle id the service knows.
    package var app: AppID
    /// The environment.
    package var environment: PushEnvironment

    /// Names a home.
    package init(project: ProjectID, app: AppID, environment: PushEnvironment) {
        self.project = project
        self.app = app
        self.environment = environment
    }
}
