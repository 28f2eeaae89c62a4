package import PushModel

/// An app as somebody names it: by its id, or by its platform too where an id may be of several apps.
package struct NamedApp: Hashable, Sendable {
    /// Its id.
    package var id: AppID
    /// Its platform; `nil`: any.
    package var platform: Platform?

    /// Names an app.
    package init(_ id: AppID, on platform: Platform? = nil) {
        self.id = id
        self.platform = platform
    }

    /// Reads `id` or `platform:id`; `nil`: the text is neither.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let id = parts.last.flatMap(AppID.init(rawValue:)) else { return nil }
        guard parts.count == 2 else {
            self.init(id)
            return
        }
        guard let platform = Platform(rawValue: parts[0]) else { return nil }
        self.init(id, on: platform)
    }

    /// `id` or `platform:id`.
    package var text: String { platform.map { "\($0.rawValue):\(id)" } ?? id.rawValue }

    /// Whether an app is meant.
    package func names(_ app: AppKey) -> Bool { app.id == id && (platform == nil || app.platform == platform) }
}
