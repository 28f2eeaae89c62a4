public import Foundation

/// Which app opens the link on Android, and what happens without it.
public final class DynamicLinkAndroidParameters {
    /// The package name of the app, one of the project's.
    public let packageName: String?
    /// Where those without the app go instead of the Play Store.
    public var fallbackURL: URL?
    /// The version code below which the Play Store offers an update; in the link once it was set.
    public var minimumVersion: Int {
        get { givenMinimumVersion ?? 0 }
        set { givenMinimumVersion = newValue }
    }
    private var givenMinimumVersion: Int?

    /// Names the app.
    public init(packageName: String) { self.packageName = packageName }

    func add(to query: inout LinkQuery) {
        query.add(.androidPackage, packageName)
        query.add(.androidFallback, fallbackURL?.absoluteString)
        query.add(.androidMinimumVersion, givenMinimumVersion.map { "\($0)" })
    }
}
