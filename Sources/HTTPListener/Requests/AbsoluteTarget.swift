/// A request's target in absolute-form, as a client sends it to a proxy: `http://go.example.com/x?y`.
///
/// A server takes the host from there and not from `Host` (RFC 9112 §3.2.2).
struct AbsoluteTarget {
    /// The host with or without a port.
    let authority: Substring
    /// Path and query: the same target in origin-form.
    let path: String

    /// Reads a target; `nil`: its scheme is not `http` or `https`, or it has no sound authority.
    init?(_ target: String) {
        guard let colon = target.firstIndex(of: ":"), ["http", "https"].contains(target[..<colon].lowercased()),
            target[colon...].hasPrefix("://")
        else { return nil }
        let rest = target[colon...].dropFirst("://".count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        authority = rest[..<end]
        // A path that is empty is the root (RFC 9110 §4.2.3).
        path = (rest[end...].first == "/" ? "" : "/") + rest[end...]
        guard !authority.isEmpty, RequestAuthority.isSound(authority) else { return nil }
    }
}
