public import Foundation

/// Where the gateway is and who asks: all that differs between an app on Firebase's SDK and one on HeraldLinks.
public struct HeraldLinksOptions: Hashable, Sendable {
    /// The gateway's API, as `https://push.example.com`; its path, if any, stands before `/v1`.
    public var host: URL
    /// An API key of the project with the role `client`; a server may use one with more rights.
    public var apiKey: String
    /// The app's bundle id, also a URL scheme that ``DynamicLinks`` recognises; `nil` for a server.
    public var bundleID: String?
    /// The app's URL scheme, where that is not the bundle id.
    public var urlScheme: String?
    /// The prefixes of the links that are the app's.
    public var customDomains: DynamicLinksCustomDomains

    /// Puts options together.
    ///
    /// - Parameter customDomains: what the app's links begin with, as `https://go.example.com` or
    ///   `https://example.com/link`; entries without a scheme are left out, as in Firebase's SDK.
    public init(
        host: URL, apiKey: String, bundleID: String? = Bundle.main.bundleIdentifier, urlScheme: String? = nil,
        customDomains: [String] = []
    ) {
        self.host = host
        self.apiKey = apiKey
        self.bundleID = bundleID
        self.urlScheme = urlScheme
        self.customDomains = DynamicLinksCustomDomains(customDomains)
    }

    /// Reads options from an Info.plist: its dictionary `HeraldLinks` with `Host`, `APIKey`, and optionally `BundleID`,
    /// `URLScheme` and `CustomDomains`; `nil` without the first two.
    ///
    /// Without `CustomDomains` the array `FirebaseDynamicLinksCustomDomains`, which an app on Firebase's SDK already has,
    /// is read.
    public init?(infoDictionary: [String: Any]?, bundleID: String? = Bundle.main.bundleIdentifier) {
        guard let settings = infoDictionary?["HeraldLinks"] as? [String: Any],
            let text = settings["Host"] as? String, let host = URL(string: text), host.host() != nil,
            let apiKey = settings["APIKey"] as? String
        else { return nil }
        self.init(
            host: host, apiKey: apiKey, bundleID: settings["BundleID"] as? String ?? bundleID,
            urlScheme: settings["URLScheme"] as? String,
            customDomains: (settings["CustomDomains"] ?? infoDictionary?["FirebaseDynamicLinksCustomDomains"])
                as? [String] ?? [])
    }
}
