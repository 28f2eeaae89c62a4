public import Foundation

/// Which app opens the link on iOS, and what happens without it.
public final class DynamicLinkIOSParameters {
    /// The bundle id of the app, one of the project's.
    public let bundleID: String?
    /// The App Store's number of the app, to which those without it are sent.
    public var appStoreID: String?
    /// Where those without the app go instead of the App Store.
    public var fallbackURL: URL?
    /// The app's URL scheme, where that is not the bundle id.
    public var customScheme: String?
    /// The bundle id of the app for iPads, where there is another one.
    public var iPadBundleID: String?
    /// Where iPads without the app go.
    public var iPadFallbackURL: URL?
    /// The version that an app must have to open the link; the app itself checks it.
    public var minimumAppVersion: String?

    /// Names the app.
    public init(bundleID: String) { self.bundleID = bundleID }

    func add(to query: inout LinkQuery) {
        query.add(.iosBundle, bundleID)
        query.add(.appStoreID, appStoreID)
        query.add(.iosFallback, fallbackURL?.absoluteString)
        query.add(.iosScheme, customScheme)
        query.add(.ipadBundle, iPadBundleID)
        query.add(.ipadFallback, iPadFallbackURL?.absoluteString)
        query.add(.iosMinimumVersion, minimumAppVersion)
    }
}
