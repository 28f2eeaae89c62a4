import HTTPTypes
import PushModel
import Store

/// Who is signed in, by the cookie of a request.
struct SignedIn: Sendable {
    /// The session's secret, from the cookie.
    let secret: String
    /// What the store has of it.
    var session: OperatorSession
    /// Whose it is.
    let owner: Operator

    /// The token that its forms carry.
    var formToken: String { SessionSecret.formToken(of: secret) }

    /// Who acts, for changes that are of no project.
    func credential(from address: String?) -> CredentialUse {
        CredentialUse(id: CredentialUse.id(of: owner.name), name: owner.name.rawValue, address: address)
    }
}

/// Begins, finds and ends sessions.
struct SessionKeeper: Sendable {
    /// How long a session lasts that is not used.
    static let idleLimit: Duration = .seconds(12 * 3600)
    /// How long a session lasts at most.
    static let totalLimit: Duration = .seconds(7 * 86_400)
    /// How long a proof counts for what needs one.
    static let proofLimit: Duration = .seconds(10 * 60)
    /// A use is noted when the last one is so long ago.
    private static let useStep: Duration = .seconds(60)

    let store: any OperatorStore
    let wallTime: WallTime
    let path: String
    let publicURL: @Sendable () -> String

    /// Whether operators reach the console over TLS.
    private var isSecure: Bool { publicURL().hasPrefix("https://") }

    /// The cookie of a sign-in at a provider that has begun.
    private var attemptCookieName: String { cookieName + "-oidc" }

    /// The cookie's name: with TLS one that browsers keep to this very host.
    private var cookieName: String { isSecure ? "__Host-herald" : "herald" }

    /// The session of a request; `nil`: there is none, it has ended or is too old.
    ///
    /// - Parameter isUse: whether the request is one of the operator's, which the session lasts longer for; what a page
    ///   that is open asks for by itself is none.
    func find(_ visit: Visit, isUse: Bool = true) async throws(StoreError) -> SignedIn? {
        guard let secret = visit.cookie(cookieName), secret.utf8.count < 100,
            let found = try await store.session(SessionSecret.digest(of: secret))
        else { return nil }
        let (session, now) = (found.session, wallTime())
        guard now < session.createdAt + Self.totalLimit, now < session.usedAt + Self.idleLimit,
            found.owner.revokedAt == nil
        else { return nil }
        if isUse, session.usedAt + Self.useStep <= now {
            try await store.noteUse(ofSession: session.digest, at: now, isProof: false)
        }
        return SignedIn(secret: secret, session: session, owner: found.owner)
    }

    /// Begins a session; the value of `Set-Cookie`.
    ///
    /// - Parameter provenAt: when the operator proved who they are; `nil`: just now.
    func begin(
        for name: OperatorName, _ visit: Visit, provenAt: Timestamp? = nil
    ) async throws(StoreError) -> String {
        let (secret, now) = (SessionSecret.random(), wallTime())
        try await store.begin(
            OperatorSession(
                digest: SessionSecret.digest(of: secret), id: SessionSecret.randomID(), name: name, createdAt: now,
                usedAt: now, provenAt: min(now, provenAt ?? now), address: visit.address, browser: visit.browser))
        return cookie(cookieName, secret, maxAge: Int(Self.totalLimit.components.seconds))
    }

    /// The sealed sign-in that a browser has begun at a provider; `nil`: none.
    func attempt(_ visit: Visit) -> String? { visit.cookie(attemptCookieName) }

    /// The value of `Set-Cookie` for a sign-in at a provider that begins; `nil`: it has ended.
    func attemptCookie(_ sealed: String?) -> String {
        let maxAge = sealed == nil ? 0 : Int(SignInAttempt.lifetime.components.seconds)
        return cookie(attemptCookieName, sealed ?? "", maxAge: maxAge)
    }

    /// Notes that the operator proved again who they are.
    func prove(_ signedIn: SignedIn) async throws(StoreError) {
        try await store.noteUse(ofSession: signedIn.session.digest, at: wallTime(), isProof: true)
    }

    /// Whether the operator proved lately who they are.
    func isProven(_ signedIn: SignedIn) -> Bool { wallTime() < signedIn.session.provenAt + Self.proofLimit }

    /// Ends a session; the value of `Set-Cookie`.
    func end(_ signedIn: SignedIn) async throws(StoreError) -> String {
        _ = try await store.endSession(signedIn.session.id, of: signedIn.owner.name)
        return cookie(cookieName, "", maxAge: 0)
    }

    private func cookie(_ name: String, _ value: String, maxAge: Int) -> String {
        // A cookie with the prefix is for the whole host; otherwise only the console sees it.
        let scope = isSecure ? "Path=/; Secure" : "Path=\(path)"
        return "\(name)=\(value); \(scope); HttpOnly; SameSite=Lax; Max-Age=\(maxAge)"
    }
}
