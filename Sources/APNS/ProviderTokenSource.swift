import PushModel
import Signing
import Synchronization
import Upstream

/// The provider token of one (team, key), shared by all pools that use the key.
///
/// Apple refuses tokens older than an hour, and new ones that follow each other on a connection within 20 minutes
/// ("Establishing a token-based connection to APNs"). So a token is signed when a batch first needs one, its age is that
/// of its own `iat` and not of a timer, it is replaced before use once it is 45 minutes old, and no 429 ever makes a
/// new one. Only ExpiredProviderToken does, within the limits of ``expire(_:)``. A token that replaces another within 20
/// minutes all the same, because the wall clock was set, begins a new series.
final class ProviderTokenSource: AuthorizationSource {
    /// A token of this age is replaced before it is used.
    static let lifetime: Duration = .seconds(45 * 60)
    /// A token that APNs called expired when it was younger than this is not the problem: the clock is.
    static let youngest: Duration = .seconds(60)
    /// Time between two replacements that APNs' answers asked for.
    static let renewalInterval: Duration = .seconds(20 * 60)
    /// A token may lie this far in the future before the clock counts as set back.
    static let tolerance: Duration = .seconds(5 * 60)

    private struct State {
        var token: AuthorizationToken?
        /// When an ExpiredProviderToken answer last replaced a token.
        var lastForcedAt: Timestamp?
        /// When the last token was signed, on the steady clock.
        var signedAt: Duration?
        var series = 0
        /// Tokens signed so far.
        var count = 0
    }

    private let keyID: String
    private let teamID: String
    private let key: ES256PrivateKey
    private let wallTime: WallTime
    private let uptime: Uptime
    private let state = Mutex(State())

    init(
        keyID: String, teamID: String, key: ES256PrivateKey, wallTime: @escaping WallTime, uptime: @escaping Uptime
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.wallTime = wallTime
        self.uptime = uptime
    }

    /// The token to send now.
    func current() throws(AuthorizationFailure) -> AuthorizationToken {
        do {
            return try signed()
        } catch {
            throw AuthorizationFailure(message: error.message)
        }
    }

    private func signed() throws(SigningError) -> AuthorizationToken {
        let now = wallTime()
        let uptime = uptime()
        // Signed under the lock: two callers must not make two tokens. It takes 50 µs, and it calls nothing back.
        let result: Result<AuthorizationToken, SigningError> = state.withLock { state in
            if let token = state.token, Self.isFresh(token, at: now) { return .success(token) }
            return Result { () throws(SigningError) in
                let isTooSoon = state.signedAt.map { uptime - $0 < Self.renewalInterval } ?? false
                let series = isTooSoon ? state.series + 1 : state.series
                let token = try signed(at: now, series: series, number: state.count + 1)
                state.token = token
                state.count += 1
                state.series = series
                state.signedAt = uptime
                return token
            }
        }
        return try result.get()
    }

    /// Takes note that APNs called the token with this `iat` expired. The next ``current()`` signs a new one, unless
    ///
    /// - it was replaced in the meantime,
    /// - it was younger than a minute: a new one would not be any better,
    /// - another was replaced for this reason less than 20 minutes ago.
    ///
    /// Does not sign itself, since it is called on a loop thread.
    func expire(_ issuedAt: Timestamp) {
        let now = wallTime()
        state.withLock { state in
            guard let token = state.token, token.issuedAt == issuedAt, now - issuedAt >= Self.youngest else { return }
            if let last = state.lastForcedAt, last <= now, now - last < Self.renewalInterval { return }
            state.lastForcedAt = now
            state.token = nil
        }
    }

    /// By our own clock; one that was set back makes a token from the future, which APNs would refuse.
    private static func isFresh(_ token: AuthorizationToken, at now: Timestamp) -> Bool {
        let age = now - token.issuedAt
        return age < lifetime && age >= .zero - tolerance
    }

    private func signed(at now: Timestamp, series: Int, number: Int) throws(SigningError) -> AuthorizationToken {
        let jwt = try ProviderJWT.signed(keyID: keyID, teamID: teamID, issuedAt: now.seconds, with: key)
        // The scheme in lower case: Apple takes both, other implementations only this one.
        return AuthorizationToken(
            authorization: "bearer " + jwt, issuedAt: Timestamp(seconds: now.seconds), series: series, number: number)
    }
}
