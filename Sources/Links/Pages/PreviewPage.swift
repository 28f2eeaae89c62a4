/// What the preview page shows.
package struct PreviewPage: Hashable, Sendable {
    /// The heading: the title, else the app's name, else the host.
    let heading: String
    let description: String?
    let imageURL: String?
    let appName: String?
    let host: String
    let openURL: String
    let clipboardText: String?
    let reportPath: String?

    /// - Parameters:
    ///   - title: `st`.
    ///   - description: `sd`.
    ///   - imageURL: `si`; left out unless it is an https URL.
    ///   - appName: what people call the app.
    ///   - host: the host of `link`, in ASCII, so that a look-alike shows as what it is.
    ///   - openURL: where the button leads: the expanded long link on the original host, which opens the app by universal
    ///     link or lands on the server again.
    ///   - copiedLink: the link for the clipboard, without the suffix that the SDK looks for; `nil`: nothing is copied, and
    ///     there is no tick box.
    ///   - reportPath: a path of the preview host to which the page sends what it knows of the device when the button is
    ///     clicked (``ClickReport``); `nil`, or no such path: nowhere.
    package init(
        title: String? = nil, description: String? = nil, imageURL: String? = nil, appName: String? = nil, host: String,
        openURL: String, copiedLink: String? = nil, reportPath: String? = nil
    ) {
        heading = title ?? appName ?? host
        self.description = description
        self.imageURL = imageURL.flatMap { PageURL.isImage($0) ? $0 : nil }
        self.appName = appName
        self.host = host
        self.openURL = openURL
        clipboardText = copiedLink.map(Self.clipboardText)
        self.reportPath = reportPath.flatMap { PageURL.isLocalPath($0) ? $0 : nil }
    }

    /// The link as the iOS SDK looks for it: it takes `_icp=1` off the end and one character before it (§3.6).
    package static func clipboardText(_ link: String) -> String {
        link + (link.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + "_icp=1"
    }
}

/// What the preview page knows of the device, sent by `navigator.sendBeacon` as a POST with the body of a form
/// (`application/x-www-form-urlencoded`): these fields, each once.
package enum ClickReport: String, Hashable, Sendable, CaseIterable {
    /// Width of the screen in CSS pixels, which are the points of the SDK.
    case width
    /// Height of the screen in CSS pixels.
    case height
    /// `navigator.language`, such as `en-GB`.
    case language
    /// The name in the time zone database, such as `Europe/Berlin`; empty where the browser doesn't tell.
    case timeZone
    /// Whether the box was ticked, `1` or `0`.
    case saved
}
