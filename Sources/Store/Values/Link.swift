package import PushModel

/// The number of a link in the store.
package struct LinkID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// What tells a link from all others.
package struct LinkKey: Hashable, Sendable {
    /// The ``LinkPrefix/name`` of its prefix.
    package let prefix: String
    /// What stands behind it: 1 to 128 of `[A-Za-z0-9_-]`.
    package let suffix: String

    /// Names a link.
    package init(prefix: String, suffix: String) {
        self.prefix = prefix
        self.suffix = suffix
    }

    /// Prefix and suffix as the link has them behind its scheme: `go.example.com/promo/aB3x`.
    package var name: String { prefix + "/" + suffix }
}

/// How a link came to its suffix.
package enum LinkKind: Int, Hashable, Sendable, CaseIterable {
    /// 17 random characters.
    case unguessable = 1
    /// A few random characters.
    case short = 2
    /// Chosen by the caller.
    case custom = 3
    /// As it was where it comes from.
    case imported = 4
    /// 17 random characters, of a link that was made for a message.
    case tracked = 5
}

/// What lists show a link as, Dynamic Links' `visibility`.
package enum LinkVisibility: Int, Hashable, Sendable, CaseIterable {
    /// It has a name and is shown.
    case unarchived = 1
    /// Not shown unless asked for; it goes on working.
    case archived = 2
    /// It was made without a name, by an app or a backend.
    case neverShown = 3
}

/// Whether a link is answered.
package enum LinkState: Int, Hashable, Sendable, CaseIterable {
    /// It is.
    case active = 0
    /// An operator blocked it: it is answered as one that was never made.
    case blocked = 1
    /// It was deleted: as one that was never made. Its suffix is not given again.
    case deleted = 2
}

/// A short link.
package struct Link: Hashable, Sendable {
    /// Its number.
    package var id: LinkID
    /// Whose it is.
    package var project: ProjectID
    /// Prefix and suffix.
    package var key: LinkKey
    /// How it came to its suffix.
    package var kind: LinkKind
    /// Its parameters as the query of a long link, without internal ones and `d`: `link=…&apn=…`.
    package var parameters: String
    /// What people call it.
    package var name: String?
    /// What lists show it as.
    package var visibility: LinkVisibility
    /// Whether it is answered.
    package var state: LinkState
    /// When it was made.
    package var createdAt: Timestamp
    /// From when on it is answered with 410; `nil`: never.
    package var expiresAt: Timestamp?

    /// Puts a link together.
    package init(
        id: LinkID, project: ProjectID, key: LinkKey, kind: LinkKind, parameters: String, name: String? = nil,
        visibility: LinkVisibility = .neverShown, state: LinkState = .active, createdAt: Timestamp,
        expiresAt: Timestamp? = nil
    ) {
        self.id = id
        self.project = project
        self.key = key
        self.kind = kind
        self.parameters = parameters
        self.name = name
        self.visibility = visibility
        self.state = state
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A link to be made.
package struct NewLink: Hashable, Sendable {
    /// Whose it is.
    package var project: ProjectID
    /// The ``LinkPrefix/name`` of its prefix.
    package var prefix: String
    /// The suffixes to try, in order.
    package var suffixes: [String]
    /// How it comes to its suffix.
    package var kind: LinkKind
    /// See ``Link/parameters``.
    package var parameters: String
    /// 16 bytes: a link of the same project, prefix, kind and digest is the same link, unless it was deleted, had its
    /// parameters changed or had ended when this one is made. `nil`: each is another.
    package var digest: [UInt8]?
    /// What people call it.
    package var name: String?
    /// What lists show it as.
    package var visibility: LinkVisibility
    /// When it was made.
    package var createdAt: Timestamp
    /// From when on it is answered with 410; `nil`: never.
    package var expiresAt: Timestamp?

    /// Describes a link.
    package init(
        project: ProjectID, prefix: String, suffixes: [String], kind: LinkKind, parameters: String,
        digest: [UInt8]? = nil, name: String? = nil, visibility: LinkVisibility = .neverShown, createdAt: Timestamp,
        expiresAt: Timestamp? = nil
    ) {
        self.project = project
        self.prefix = prefix
        self.suffixes = suffixes
        self.kind = kind
        self.parameters = parameters
        self.digest = digest
        self.name = name
        self.visibility = visibility
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// What became of a link to be made.
package enum LinkCreation: Hashable, Sendable {
    /// It was made.
    case created(Link)
    /// It was there.
    case existing(Link)
    /// None of its suffixes is free.
    case taken
}

/// What became of a link that was taken over.
package enum LinkImport: Hashable, Sendable {
    /// It is new.
    case created
    /// It was there with these parameters; its name and visibility may have been changed since, and stay.
    case unchanged
    /// Its suffix belongs to another link.
    case taken
}

/// How often links were made and changed by this process since it opened the store; what other processes do does not show.
/// It ascends after the commit and before its caller is answered: what was read at the same versions is what it was.
package struct LinkVersions: Hashable, Sendable {
    /// Ascends when links are made.
    package var made: UInt64
    /// Ascends when a link is changed.
    package var changed: UInt64

    /// Puts versions together.
    package init(made: UInt64 = 0, changed: UInt64 = 0) {
        self.made = made
        self.changed = changed
    }
}

/// What is changed of a link: a `nil` leaves a value as it is.
package struct LinkChange: Hashable, Sendable {
    /// Other parameters. The link is not found by its digest any more: who asks for the former parameters gets a link that
    /// has them.
    package var parameters: String?
    /// Another name.
    package var name: String?
    /// What lists show it as.
    package var visibility: LinkVisibility?
    /// Whether it is answered.
    package var state: LinkState?
    /// Another end; `.some(nil)`: none.
    package var expiresAt: Timestamp??

    /// Changes nothing.
    package init() {}
}

/// Which links a list keeps.
package struct LinkFilter: Hashable, Sendable {
    /// Only links of this prefix.
    package var prefix: String?
    /// Only links that lists show as one of these; deleted ones never.
    package var visibilities: Set<LinkVisibility>

    /// Puts a filter together.
    package init(prefix: String? = nil, visibilities: Set<LinkVisibility> = [.unarchived]) {
        self.prefix = prefix
        self.visibilities = visibilities
    }
}

/// What happened with a link, as `linkStats` counts it.
package enum LinkEvent: Int, Hashable, Sendable, CaseIterable {
    /// It was tapped.
    case click = 1
    /// The user was sent on, to the store or another page.
    case redirect = 2
    /// The app was installed.
    case appInstall = 3
    /// The app was opened for the first time after it was installed.
    case appFirstOpen = 4
    /// The app, installed before, was opened.
    case appReopen = 5
}

/// On what a link was opened, as `linkStats` counts it.
package enum LinkPlatform: Int, Hashable, Sendable, CaseIterable {
    case android = 1
    case ios = 2
    case desktop = 3
    case other = 4
}

/// A link that was made for a message, with what happened with it.
package struct MessageLink: Hashable, Sendable {
    /// The link.
    package var link: Link
    /// How often each event happened; those that did not are left out.
    package var counts: [LinkEvent: Int]

    /// Puts both together.
    package init(link: Link, counts: [LinkEvent: Int] = [:]) {
        self.link = link
        self.counts = counts
    }
}

/// A counter of a link.
package struct LinkCount: Hashable, Sendable {
    /// The link.
    package var link: LinkID
    /// The day in UTC, in days since 1970-01-01.
    package var day: Int
    /// On what it was opened.
    package var platform: LinkPlatform
    /// What happened.
    package var event: LinkEvent
    /// How often.
    package var count: Int

    /// Puts a counter together.
    package init(link: LinkID, day: Int, platform: LinkPlatform, event: LinkEvent, count: Int) {
        self.link = link
        self.day = day
        self.platform = platform
        self.event = event
        self.count = count
    }
}
