import PushModel
import Signing
import Synchronization
import Upstream

/// The token of one key for one origin, shared by all its connections (RFC 8292 §2).
///
/// Services may take a token for up to 24 hours; this one is made for twelve and replaced after six, so that clocks may
/// differ by hours. A token that a service calls wrong is no reason for a new one.
final class VAPIDTokenSource: AuthorizationSource {
    /// From issue to expiry.
    static let lifetime: Duration = .seconds(12 * 3600)
    /// A token of this age is replaced before it is used.
    static let renewalAge: Duration = .seconds(6 * 3600)

    private struct State {
        var token: AuthorizationToken?
        var count = 0
    }

    private let key: ES256PrivateKey
    private let subject: String
    private let origin: String
    private let wallTime: WallTime
    private let state = Mutex(State())

    /// - Parameters:
    ///   - origin: of the endpoints, `https://host` with a port that is not 443.
    ///   - subject: a `mailto:` or `https:` URL.
    init(key: ES256PrivateKey, subject: String, origin: String, wallTime: @escaping WallTime) {
        self.key = key
        self.subject = subject
        self.origin = origin
        self.wallTime = wallTime
    }

    func current() throws(AuthorizationFailure) -> AuthorizationToken {
        let now = wallTime()
        // Signed under the lock: two callers must not make two tokens.
        let result: Result<AuthorizationToken, SigningError> = state.withLock { state in
            if let token = state.token, Self.isFresh(token, at: now) { return .success(token) }
            return Result { () throws(SigningError) in
                let jwt = try VAPIDToken.signed(
                    audience: origin, subject: subject, expiresAt: (now + Self.lifetime).seconds, with: key)
                state.count += 1
                let token = AuthorizationToken(
                    authorization: VAPIDToken.authorization(jwt, of: key), issuedAt: Timestamp(seconds: now.seconds),
                    series: 0, number: state.count)
                state.token = token
                return token
            }
        }
        do {
            return try result.get()
        } catch {
            throw AuthorizationFailure(message: error.message)
        }
    }

    func expire(_ issuedAt: Timestamp) {}

    /// By our own clock; one that was set back makes a token from the future.
    private static func isFresh(_ token: AuthorizationToken, at now: Timestamp) -> Bool {
        let age = now - token.issuedAt
        return age < renewalAge && age >= .seconds(-300)
    }
}
