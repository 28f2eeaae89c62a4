/// `console` of the configuration.
package struct ConsoleConfiguration: Hashable, Sendable {
    /// Whether there is a console.
    package var isEnabled = true
    /// Where it is on the listener: begins with a slash and does not end with one.
    package var path = "/console"
    /// The provider by which operators sign in; `nil`: they sign in here alone.
    package var oidc: OIDCConfiguration?

    /// The console as it is without configuration.
    package init() {}

    /// Whether a path may be the console's: segments of letters, digits, `-` and `_`, and none that the API has.
    package static func isPath(_ text: String) -> Bool {
        let segments = text.split(separator: "/", omittingEmptySubsequences: false)
        guard text.utf8.count <= 100, segments.count > 1, segments[0].isEmpty else { return false }
        let taken = ["v1", "v1beta1", "fcm", "iid", "batch", "token", "healthz", "readyz", "metrics", "openapi.json"]
        return !taken.contains(String(segments[1]))
            && segments.dropFirst().allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil }
    }
}
