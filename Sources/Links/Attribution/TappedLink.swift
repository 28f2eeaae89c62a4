package import HTTPListener
package import PushModel
package import Store

/// A tap on a link that leads to a store or a preview page, as a link host sees it.
package struct TappedLink: Sendable {
    /// What the click is called in the install referrer and by pages.
    package var id: ClickID
    /// The link's own URL without internal parameters.
    package var url: String
    /// The short link; `nil`: it is none.
    package var link: LinkID?
    /// The invitation that it is.
    package var invitation: InvitationID?
    /// The app that the link is for on this device.
    package var app: AppKey
    /// Where the request came from.
    package var address: ClientAddress?
    /// `Accept-Language`.
    package var languages: String?
    /// The version of the system, as user agents have it.
    package var system: String?
    /// What kind of device.
    package var device: DeviceClass?
    /// How long it waits for the app, by its project.
    package var windows: ClickWindows

    /// Puts a tap together.
    package init(
        id: ClickID = .random(), url: String, link: LinkID? = nil, invitation: InvitationID? = nil, app: AppKey,
        address: ClientAddress?,
        languages: String? = nil, system: String? = nil, device: DeviceClass? = nil,
        windows: ClickWindows = ClickWindows()
    ) {
        self.id = id
        self.url = url
        self.link = link
        self.invitation = invitation
        self.app = app
        self.address = address
        self.languages = languages
        self.system = system
        self.device = device
        self.windows = windows
    }
}

/// What a page says of the device that it is shown on.
package struct PageTraits: Hashable, Sendable {
    /// `screen.width` in CSS pixels.
    package var width: Int?
    /// `screen.height` in CSS pixels.
    package var height: Int?
    /// `navigator.language`.
    package var language: String?
    /// `Intl.DateTimeFormat().resolvedOptions().timeZone`.
    package var timeZone: String?

    /// Puts traits together.
    package init(width: Int? = nil, height: Int? = nil, language: String? = nil, timeZone: String? = nil) {
        self.width = width
        self.height = height
        self.language = language
        self.timeZone = timeZone
    }
}
