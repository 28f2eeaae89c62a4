package import Store

/// What a link was opened with, as far as the answer depends on it. A coarse reading of the request's headers.
package struct LinkClient: Hashable, Sendable {
    /// The kinds that are answered differently.
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// Chrome on Android, or a browser made of it: it knows `intent:` URLs.
        case androidChrome
        /// Another browser on Android, or an app that shows pages itself.
        case androidOther
        case iPhone
        case iPad
        /// Safari on a Mac, which an iPad calls itself too.
        case mac
        /// Another browser on a computer.
        case desktop
        /// Something that reads pages for a social network or a search engine.
        case crawler
        /// Anything else: programs, consoles, televisions.
        case other
    }

    /// The kind.
    package var kind: Kind
    /// Whether it is only fetched ahead: it may never be seen.
    package var isPrefetch: Bool
    /// Whether an app shows the page itself, as the apps of social networks do.
    package var isInApp: Bool
    /// Whether it says that it is a browser: libraries and command line tools don't.
    package var isBrowser: Bool

    /// Names a client.
    package init(_ kind: Kind, isPrefetch: Bool = false, isInApp: Bool = false, isBrowser: Bool = true) {
        self.kind = kind
        self.isPrefetch = isPrefetch
        self.isInApp = isInApp
        self.isBrowser = isBrowser
    }

    /// Reads `User-Agent`, `Sec-CH-UA-Platform`, `Sec-CH-UA-Mobile`, and `Sec-Purpose` or one of its older names (`Purpose`,
    /// `X-Purpose`, `X-Moz`).
    package init(
        userAgent: String, platformHint: String? = nil, mobileHint: String? = nil, purpose: String? = nil
    ) {
        let agent = UserAgent(userAgent)
        self.init(
            agent.kind(platformHint: platformHint, mobileHint: mobileHint),
            isPrefetch: purpose.map(Self.isAhead) ?? false, isInApp: agent.isInApp, isBrowser: agent.isBrowser)
    }

    private static func isAhead(_ purpose: String) -> Bool {
        let purpose = purpose.lowercased()
        return ["prefetch", "prerender", "preview"].contains { purpose.contains($0) }
    }

    /// What statistics count it as.
    package var platform: LinkPlatform {
        switch kind {
        case .androidChrome, .androidOther: .android
        case .iPhone, .iPad: .ios
        case .mac, .desktop: .desktop
        case .crawler, .other: .other
        }
    }

    /// Whether its request is a click: not that of a crawler or a program, nor one ahead of it. HEAD is the
    /// caller's matter.
    package var isClick: Bool { kind != .crawler && isBrowser && !isPrefetch }
}
