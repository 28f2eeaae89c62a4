import CryptoExtras
import Foundation
import JWTKit
import PushModel
import Store

/// A JWT that a service account signed, RS256: what is exchanged for an access token, or a bearer of its own
/// (fcm.md §1.2, §1.3).
struct Assertion: Sendable {
    /// The id of the key that it says it is signed with (`kid`).
    let keyID: String
    private let text: String
    private let claims: Claims

    /// The largest assertion in bytes; those of SDKs have less than 1,500.
    static let limitBytes = 8 << 10
    /// How far the clocks of backend and gateway may be apart, in seconds.
    private static let leeway: Double = 60
    /// How long an assertion may be valid, in seconds.
    private static let lifetime: Double = 3600

    /// Why an assertion does not count.
    enum Problem: Error, Sendable {
        /// It is no JWT, or a claim is missing or has the wrong type.
        case malformed
        /// It is not signed with RS256 and a key id.
        case algorithm
        /// It is over, not valid yet, or valid for too long.
        case times
        /// `sub` is not `iss`: an account speaks for itself only.
        case subject
        /// `aud` is not a token endpoint.
        case audience
        /// The key is unknown, not of the issuer, or did not sign this.
        case signature
        /// The key was revoked.
        case revoked
        /// The account is disabled.
        case disabled
        /// The store could not be asked.
        case store(StoreError)
    }

    private struct Claims: JWTPayload {
        var iss: String
        var sub: String?
        var aud: Audience?
        var iat: Double
        var exp: Double
        var nbf: Double?

        // Times are held against the gateway's own clock, before the key is looked up.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private struct Audience: Codable, Sendable {
        var values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                values = [try container.decode(String.self)]
            } catch {
                values = try container.decode([String].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(values)
        }
    }

    /// Whether a text has the form of a JWT: no other credential has dots.
    static func isAssertion(_ text: String) -> Bool {
        text.utf8.count { $0 == UInt8(ascii: ".") } == 2
    }

    /// Reads an assertion and checks everything that needs no key; what it says is proven by its signer only.
    init(_ text: String, at now: Timestamp) throws(Problem) {
        guard text.utf8.count <= Self.limitBytes else { throw .malformed }
        let header: JWTHeader
        let claims: Claims
        do {
            (header, claims, _) = try DefaultJWTParser().parse(Array(text.utf8), as: Claims.self)
        } catch {
            throw .malformed
        }
        guard header.alg == "RS256", header[dynamicMember: "crit"] == nil, let keyID = header.kid,
            (1...128).contains(keyID.utf8.count)
        else { throw .algorithm }
        let time = Double(now.milliseconds) / 1000
        guard max(claims.iat, claims.nbf ?? claims.iat) <= time + Self.leeway, time - Self.leeway < claims.exp,
            claims.iat < claims.exp, claims.exp <= claims.iat + Self.lifetime + Self.leeway
        else { throw .times }
        guard claims.sub.map({ $0 == claims.iss }) ?? true else { throw .subject }
        self.keyID = keyID
        self.text = text
        self.claims = claims
    }

    /// When it stops being valid.
    var expiresAt: Timestamp { Timestamp(milliseconds: Int64((claims.exp + Self.leeway) * 1000)) }

    /// Checks that it is meant for a token endpoint. SDKs name Google's whatever they call, Go the one that it calls,
    /// so any will do.
    func checkAudience() throws(Problem) {
        let isEndpoint = claims.aud?.values.contains { audience in
            (audience.hasPrefix("https://") || audience.hasPrefix("http://")) && audience.hasSuffix("/token")
        }
        guard isEndpoint == true else { throw .audience }
    }

    /// Checks the signature, and then whether key and account work: who does not have the key does not learn which ids
    /// there are.
    fileprivate func check(by identity: ServiceAccountIdentity) async throws(Problem) {
        guard identity.account.email.rawValue == claims.iss else { throw .signature }
        do {
            let key = try Insecure.RSA.PublicKey(
                backing: _RSA.Signing.PublicKey(derRepresentation: identity.key.publicKey))
            // A collection of one: no other key or algorithm comes into question.
            _ = try await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256).verify(text, as: Claims.self)
        } catch {
            throw .signature
        }
        guard identity.key.revokedAt == nil else { throw .revoked }
        guard identity.account.disabledAt == nil else { throw .disabled }
    }
}

extension ServiceAccountStore {
    /// Who signed an assertion.
    ///
    /// - Throws: ``Assertion/Problem`` unless it is a key that works now.
    func signer(of assertion: Assertion) async throws(Assertion.Problem) -> ServiceAccountIdentity {
        let identity: ServiceAccountIdentity?
        do {
            identity = try await serviceAccountKey(assertion.keyID)
        } catch {
            throw .store(error)
        }
        guard let identity else { throw .signature }
        try await assertion.check(by: identity)
        return identity
    }
}

extension Assertion.Problem {
    /// The word for clients, of google.api.ErrorReason: after the first they get a new token.
    var reason: ErrorReason {
        switch self {
        case .times: .accessTokenExpired
        case .revoked, .disabled: .accountUnusable
        case .malformed, .algorithm, .subject, .audience, .signature, .store: .jwtUnusable
        }
    }

    /// A sentence for the caller; the first words are those of Google's token endpoint.
    var text: String {
        switch self {
        case .malformed: "Invalid JWT: it must be three base64url parts with the claims iss, iat and exp."
        case .algorithm: "Invalid JWT: the header must say alg RS256 and kid, and nothing critical beside."
        case .times:
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                + "Check your iat and exp values in the JWT claim, and the clock of this machine."
        case .subject: "Invalid JWT: sub must be iss; an account can't act for another one."
        case .audience: "Invalid JWT: Failed audience check. aud must be the URL of a token endpoint."
        case .signature: "Invalid JWT Signature."
        case .revoked: "The key of the service account was revoked."
        case .disabled: "The service account is disabled."
        case .store: FCMError.Code.unavailable.message
        }
    }
}
