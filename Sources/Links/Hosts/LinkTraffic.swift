package import HTTPListener
package import PushModel
package import Store

/// A link that was opened and leads away from the web: to a store, to an app, or to the preview page. An app that is opened
/// for the first time may be given the link by it.
package struct LinkOpening: Sendable {
    /// Whose link it is.
    package var project: ProjectID
    /// The app that the link is for on the device.
    package var app: AppKey
    /// The link as it was tapped, without internal parameters.
    package var url: String
    /// The short link; `nil`: it is none.
    package var link: LinkID?
    /// The name of the invitation that the link is.
    package var invitation: String?
    /// Where from.
    package var address: ClientAddress?
    /// `User-Agent`.
    package var userAgent: String
    /// `Accept-Language`.
    package var languages: String?
    /// On what.
    package var client: LinkClient
    /// How long it waits for the app.
    package var windows: ClickWindows
}

/// What the preview page knows of the device, sent when its button is clicked.
package struct DeviceReport: Hashable, Sendable {
    /// What it says of the device.
    package var traits: PageTraits
    /// Whether the link was copied.
    package var isSaved = false

    /// Puts a report together.
    package init(_ traits: PageTraits, isSaved: Bool = false) {
        self.traits = traits
        self.isSaved = isSaved
    }
}

/// Hears of links that are opened. Called on the path of every redirect: it only takes note.
package protocol LinkTraffic: Sendable {
    /// Counts events of a short link at `time`, each once.
    func count(_ events: [LinkEvent], of link: LinkID, on platform: LinkPlatform, at time: Timestamp)
    /// Takes an opening; the answer is what it is called in the install referrer and by the preview page.
    func take(_ opening: LinkOpening) -> ClickID
    /// Takes what a page says of the device of an opening.
    func take(_ report: DeviceReport, of click: ClickID)
    /// The link of an invitation of a project by its name; `nil`: there is none.
    func invitation(_ name: String, of project: ProjectID) async throws -> LinkInvitation?
}

/// An invitation as far as its link matters.
package struct LinkInvitation: Sendable {
    /// The parameters of the link.
    package var parameters: LinkParameters

    /// Describes an invitation.
    package init(parameters: LinkParameters) {
        self.parameters = parameters
    }
}

/// Traffic that leaves no trace.
package struct UntoldTraffic: LinkTraffic {
    /// Makes it.
    package init() {}

    package func count(_ events: [LinkEvent], of link: LinkID, on platform: LinkPlatform, at time: Timestamp) {}
    package func take(_ opening: LinkOpening) -> ClickID { .random() }
    package func take(_ report: DeviceReport, of click: ClickID) {}
    package func invitation(_ name: String, of project: ProjectID) async throws -> LinkInvitation? { nil }
}
