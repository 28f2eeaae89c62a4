package import PushModel

/// What a click is called outside.
package typealias ClickID = OpaqueID<LinkClick>

/// Somebody tapped a link and was sent to a store or a preview page: what is needed to give the link to the app when it is
/// opened for the first time. Neither address nor user agent are kept.
package struct LinkClick: Hashable, Sendable {
    /// Its name outside.
    package var id: ClickID
    /// Whose link it is.
    package var project: ProjectID
    /// The app that the link is for on the device that it was tapped on.
    package var app: AppKey
    /// The link as it was tapped, without internal parameters: a short link, a long link, or an invitation.
    package var url: String
    /// The short link; `nil`: it is none.
    package var link: LinkID?
    /// The invitation that the link is.
    package var invitation: InvitationID?
    /// When.
    package var time: Timestamp
    /// Until when it may be found by its id.
    package var expiresAt: Timestamp
    /// What is known of the device.
    package var traits: DeviceTraits

    /// Puts a click together.
    package init(
        id: ClickID, project: ProjectID, app: AppKey, url: String, link: LinkID? = nil, invitation: InvitationID? = nil,
        time: Timestamp, expiresAt: Timestamp, traits: DeviceTraits
    ) {
        self.id = id
        self.project = project
        self.app = app
        self.url = url
        self.link = link
        self.invitation = invitation
        self.time = time
        self.expiresAt = expiresAt
        self.traits = traits
    }
}

/// What is known of a device, in one form, be it said by a page or an app. `nil`: not known.
package struct DeviceTraits: Hashable, Sendable {
    /// The keyed digest of the address: of IPv4 the whole, of IPv6 the network of 64 bits.
    package var address: KeyedDigest?
    /// The screen.
    package var screen: ScreenSize?
    /// The language in lower case with hyphens, as `en-us`.
    package var language: String?
    /// The time zone by its present name.
    package var timeZone: String?
    /// The version of the system.
    package var system: SystemVersion?
    /// What kind of device.
    package var device: DeviceClass?

    /// Puts traits together.
    package init(
        address: KeyedDigest? = nil, screen: ScreenSize? = nil, language: String? = nil, timeZone: String? = nil,
        system: SystemVersion? = nil, device: DeviceClass? = nil
    ) {
        self.address = address
        self.screen = screen
        self.language = language
        self.timeZone = timeZone
        self.system = system
        self.device = device
    }
}

/// The two sides of a screen, whichever way it is held, in CSS pixels or points.
package struct ScreenSize: Hashable, Sendable {
    /// The shorter side, 1 to 65535.
    package let short: Int
    /// The longer side, 1 to 65535.
    package let long: Int

    /// Takes the sides in any order; `nil`: a side is not known, as with 0×0 of an iPhone app on an iPad.
    package init?(_ width: Int, _ height: Int) {
        guard (1...65535).contains(width), (1...65535).contains(height) else { return nil }
        (short, long) = (min(width, height), max(width, height))
    }
}

/// The version of an operating system.
package struct SystemVersion: Hashable, Sendable {
    /// The first number.
    package let major: Int
    /// The second; 0 when it was not said.
    package let minor: Int

    /// Puts a version together; numbers of 0 to 65535.
    package init?(major: Int, minor: Int) {
        guard (0...65535).contains(major), (0...65535).contains(minor) else { return nil }
        (self.major, self.minor) = (major, minor)
    }
}

/// What kind of device, as far as pages and apps both can say.
package enum DeviceClass: Int, Hashable, Sendable, CaseIterable {
    case phone = 1
    case tablet = 2
    case musicPlayer = 3
    case android = 4
}

/// How sure it is that an install comes from a click, in Dynamic Links' words.
package enum MatchConfidence: Int, Hashable, Sendable, CaseIterable {
    /// The device is alike, and much of it is not known.
    case weak = 1
    /// The device is alike in all that a page can know, and no other is.
    case standard = 2
    /// The device shows the link or the click itself.
    case unique = 3
}

/// An install that a link is given to.
package struct NewAttribution: Hashable, Sendable {
    /// The project.
    package var project: ProjectID
    /// The app.
    package var app: AppKey
    /// The click that is used up; `nil`: the device shows a link and no click is known of it.
    package var click: LinkClick?
    /// The keyed digest of the install's id; `nil`: it has none.
    package var install: KeyedDigest?
    /// How sure it is.
    package var confidence: MatchConfidence
    /// The invitation that the link is.
    package var invitation: InvitationID?
    /// The keyed digest of the address that the app asks from.
    package var address: KeyedDigest?
    /// The rules of the referral that the invitation leads to.
    package var rules: ReferralRules
    /// When the app asks.
    package var time: Timestamp

    /// Puts an attribution together.
    package init(
        project: ProjectID, app: AppKey, click: LinkClick? = nil, install: KeyedDigest? = nil,
        confidence: MatchConfidence, invitation: InvitationID? = nil, address: KeyedDigest? = nil,
        rules: ReferralRules = ReferralRules(), time: Timestamp
    ) {
        self.rules = rules
        self.project = project
        self.app = app
        self.click = click
        self.install = install
        self.confidence = confidence
        self.invitation = invitation
        self.address = address
        self.time = time
    }
}

/// What became of an attribution.
package enum AttributionResult: Hashable, Sendable {
    /// The link is the install's; with the referral that it went on, when the link is an invitation.
    case attributed(ReferralID?)
    /// Another install has the click.
    case clickTaken
    /// The install was given a link before.
    case installKnown
}
