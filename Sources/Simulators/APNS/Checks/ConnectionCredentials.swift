/// Whose connection it is: the owner's of the certificate that TLS brought, or bound by its first push to one team and
/// one key, with at most one new provider token in 20 minutes (Apple, "Establishing a token-based connection to APNs").
struct ConnectionCredentials {
    /// The shortest time between two provider tokens, unless a scenario changes it.
    static let renewalSeconds: Int64 = 20 * 60

    /// - unbound: no valid token came yet. Next: bound.
    /// - bound: to the team and key of `token`, in use since `since` (seconds). Stays bound; the token may change.
    private enum Binding {
        case unbound
        case bound(token: ProviderToken, since: Int64)
    }

    private var binding = Binding.unbound
    /// The client's certificate, verified; `nil`: it showed none, so that each push needs a token.
    let certificate: PushCertificate?
    /// The shortest time between two provider tokens on this connection.
    var renewalSeconds = Self.renewalSeconds

    init(certificate: PushCertificate? = nil) {
        self.certificate = certificate
    }

    /// Whether the sender is known, by its certificate or by a token.
    var isKnown: Bool { certificate != nil || token != nil }

    /// The token that was accepted last.
    var token: ProviderToken? {
        switch binding {
        case .unbound: nil
        case .bound(let token, _): token
        }
    }

    /// A verified token came with a push.
    ///
    /// A new token is one with another text. It is early when neither its `iat` nor the clock is 20 minutes past the
    /// one before: a token that was old when the connection began may be renewed soon after.
    mutating func admit(_ token: ProviderToken, now: Int64) throws(Refusal) {
        switch binding {
        case .unbound:
            binding = .bound(token: token, since: now)
        case .bound(let current, let since):
            if token.text == current.text { return }
            guard token.teamID == current.teamID else { throw .invalidProviderToken }
            guard token.keyID == current.keyID else { throw .unrelatedKeyID }
            guard
                token.issuedAt - current.issuedAt >= renewalSeconds || now - since >= renewalSeconds
            else { throw .tooManyProviderTokenUpdates }
            binding = .bound(token: token, since: now)
        }
    }
}
