import Foundation
import JSON
import Logging
import PushModel

/// A provider of OpenID Connect, as the console uses it: its description and keys are kept for an hour, codes are exchanged,
/// ID tokens checked. Safe to share; there is nothing to close.
actor OIDCProvider {
    /// How long description and keys are kept.
    static let lifetime: Duration = .seconds(3600)
    /// How soon the keys are asked for again because a token names one that is not among them.
    static let keyPause: Duration = .seconds(10)
    /// How many may exchange codes at the same time.
    private static let limit = 16

    private let configuration: OIDCConfiguration
    private let client: ProviderClient
    private let wallTime: WallTime
    private let logger: Logger
    private var description: Kept<ProviderDescription>?
    private var keys: Kept<SigningKeys>?
    private var exchanges = 0

    private struct Kept<Value> {
        let value: Value
        let readAt: Timestamp

        /// Whether it was read within a time; not when the clock was set back since.
        func isYounger(than age: Duration, at now: Timestamp) -> Bool { readAt <= now && now < readAt + age }
    }

    init(_ configuration: OIDCConfiguration, _ client: ProviderClient, wallTime: @escaping WallTime, logger: Logger) {
        self.configuration = configuration
        self.client = client
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Where an operator signs in at the provider.
    ///
    /// - Parameter redirect: the page of the console that the provider's answer goes to.
    func authorizationURL(for attempt: SignInAttempt, redirect: String) async throws(OIDCProblem) -> String {
        let endpoint = try await provider().authorization
        var fields = [
            ("response_type", "code"), ("client_id", configuration.clientID), ("redirect_uri", redirect),
            ("scope", (["openid"] + configuration.scopes.filter { $0 != "openid" }).joined(separator: " ")),
            ("state", attempt.state), ("nonce", attempt.nonce), ("code_challenge", attempt.challenge),
            ("code_challenge_method", "S256"),
        ]
        // Who proves again who they are signs in again, whatever session the provider has (Core §3.1.2.1).
        if attempt.session != nil { fields += [("prompt", "login"), ("max_age", "0")] }
        return Self.url(endpoint, fields)
    }

    /// Where an operator signs out of the provider; `nil`: it has no such page, or is not known yet.
    func signOutURL(back: String) -> String? {
        description?.value.endSession.map {
            Self.url($0, [("client_id", configuration.clientID), ("post_logout_redirect_uri", back)])
        }
    }

    /// Exchanges a code for the ID token of an attempt, and checks it.
    func token(for code: String, of attempt: SignInAttempt, redirect: String) async throws(OIDCProblem) -> IDToken {
        guard exchanges < Self.limit else { throw .busy }
        exchanges += 1
        defer { exchanges -= 1 }
        let text = try await exchange(code, attempt, redirect)
        let header = try IDToken.Header(of: text)
        let claims = try await claims(of: text, header)
        return try IDToken(
            claims,
            IDToken.Expected(
                issuer: configuration.issuer, clientID: configuration.clientID, nonce: attempt.nonce,
                provenSince: attempt.session == nil ? nil : attempt.begunAt), at: wallTime())
    }

    /// The claims of a token that the provider signed. A key that it changed without another name, or whose tokens name
    /// none, shows by a signature that is wrong.
    private func claims(of token: String, _ header: IDToken.Header) async throws(OIDCProblem) -> JSONValue {
        let keys = try await signingKeys(with: header.keyID)
        do throws(OIDCProblem) {
            return try await keys.claims(of: token, key: header.keyID, algorithm: header.algorithm)
        } catch {
            guard case .token(.signature) = error, let kept = self.keys,
                !kept.isYounger(than: Self.keyPause, at: wallTime())
            else { throw error }
            self.keys = nil
            return try await signingKeys(with: header.keyID).claims(
                of: token, key: header.keyID, algorithm: header.algorithm)
        }
    }

    private func exchange(
        _ code: String, _ attempt: SignInAttempt, _ redirect: String
    ) async throws(OIDCProblem) -> String {
        let provider = try await provider()
        var form = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect),
            ("code_verifier", attempt.verifier),
        ]
        var authorization: String?
        if let secret = configuration.clientSecret, !provider.takesSecretInForm {
            // RFC 6749 §2.3.1: both are encoded as in a form first.
            let pair = "\(configuration.clientID.urlEncoded):\(secret.urlEncoded)"
            authorization = "Basic " + Data(pair.utf8).base64EncodedString()
        } else {
            form.append(("client_id", configuration.clientID))
            if let secret = configuration.clientSecret { form.append(("client_secret", secret)) }
        }
        let answer = try await client.post(provider.token, form, authorization: authorization)
        guard answer.status == 200 else { throw Self.refusal(answer, provider.token) }
        guard let token = answer.json["id_token"]?.stringValue else {
            throw .token(.malformed("there is no id_token in it"))
        }
        return token
    }

    /// RFC 6749 §5.2: 400 or 401 with a word.
    private static func refusal(_ answer: ProviderClient.Answer, _ url: String) -> OIDCProblem {
        guard (400..<500).contains(answer.status), let word = answer.json["error"]?.stringValue.flatMap(errorWord)
        else {
            return .unreachable(url, reason: "status \(answer.status)")
        }
        return .refused(word)
    }

    /// A word for an error as the standard allows it (RFC 6749 §4.1.2.1), `nil`: it is something else.
    static func errorWord(_ text: String) -> String? {
        text.wholeMatch(of: /[a-z_]{1,40}/) == nil ? nil : text
    }

    private func provider() async throws(OIDCProblem) -> ProviderDescription {
        if let description, description.isYounger(than: Self.lifetime, at: wallTime()) { return description.value }
        do throws(OIDCProblem) {
            let json = try await client.get(ProviderDescription.url(of: configuration.issuer))
            let read = try ProviderDescription(json, of: configuration.issuer)
            description = Kept(value: read, readAt: wallTime())
            return read
        } catch {
            // What it said an hour ago holds still, most likely.
            guard case .unreachable = error, let description else { throw error }
            logger.notice("console: the OIDC provider is not described anew", metadata: ["reason": "\(error.reason)"])
            return description.value
        }
    }

    /// The provider's keys, read again when they are old, or when a token names another one: providers change them.
    private func signingKeys(with id: String?) async throws(OIDCProblem) -> SigningKeys {
        let now = wallTime()
        if let keys, keys.isYounger(than: Self.lifetime, at: now),
            keys.value.has(id) || keys.isYounger(than: Self.keyPause, at: now)
        {
            return keys.value
        }
        let read = try SigningKeys(try await client.get(try await provider().keys))
        keys = Kept(value: read, readAt: wallTime())
        return read
    }

    private static func url(_ endpoint: String, _ fields: [(String, String)]) -> String {
        let query = fields.map { "\($0)=\($1.urlEncoded)" }.joined(separator: "&")
        return endpoint + (endpoint.contains("?") ? "&" : "?") + query
    }
}
