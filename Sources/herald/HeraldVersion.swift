/// Which Herald this is.
enum HeraldVersion {
    /// The version by semver.org; it changes with a release.
    static let current = "1.0.0"
}
