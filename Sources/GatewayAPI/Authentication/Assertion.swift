import CryptoExtras
import Foundation
import JWTKit
import PushModel
import Store

/// A JWT that a service account signed, RS256: what is exchanged for an access token, or a bearer of its own
/// (fcm.md §1.2, §1.3).
struct Assertion: Sendable {
    /// The id of the key that it says it is signed with (`kid`); `nil`: a custom token that names none.
    let keyID: String?
    private let text: String
    private let claims: Claims

    /// The path at which assertions are exchanged for access tokens; also the one in a service account's `token_uri`.
    static let exchangePath = "/token"
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
        /// `aud` is neither the account's token endpoint nor one of Google's.
        case audience
        /// As a bearer: `aud` is not this gateway, nor the service of Google that it stands for.
        case bearerAudience
        /// As a bearer without `aud`: no scope of those that sending needs.
        case scope
        /// It asks for an ID token, which says who someone is and opens nothing here.
        case targetAudience
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
        var scope: String?
        var targetAudience: Presence?
        var uid: String?

        enum CodingKeys: String, CodingKey {
            case iss, sub, aud, iat, exp, nbf, scope, uid
            case targetAudience = "target_audience"
        }

        // Times are held against the gateway's own clock, before the key is looked up.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// That a claim is there, whatever it says.
    private struct Presence: Codable, Sendable {
        init(from decoder: any Decoder) {}
        func encode(to encoder: any Encoder) {}
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
    ///
    /// - Parameter isCustomToken: whether it is a Firebase custom token, which names no key when an SDK for Node, Go or
    ///   Java made it.
    init(_ text: String, at now: Timestamp, isCustomToken: Bool = false) throws(Problem) {
        guard text.utf8.count <= Self.limitBytes else { throw .malformed }
        let header: JWTHeader
        let claims: Claims
        do {
            (header, claims, _) = try DefaultJWTParser().parse(Array(text.utf8), as: Claims.self)
        } catch {
            throw .malformed
        }
        let keyID = header.kid
        guard header.alg == "RS256", header[dynamicMember: "crit"] == nil,
            keyID.map({ (1...128).contains($0.utf8.count) }) ?? isCustomToken
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

    /// Who says that it signed, before any proof.
    var issuer: String { claims.iss }

    /// When it stops being valid.
    var expiresAt: Timestamp { Timestamp(milliseconds: Int64((claims.exp + Self.leeway) * 1000)) }

    /// Whom a custom token stands for (`uid`).
    var userID: String? { claims.uid }

    /// Whether it is meant for this audience.
    func isMeant(for audience: String) -> Bool { claims.aud?.values.contains(audience) ?? false }

    /// Google's token endpoints: SDKs name them whatever URL they call (fcm.md §1.3).
    private static let googleTokenEndpoints: Set<String> = [
        "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
    ]
    /// The services that the gateway stands for, as Google's libraries name them in JWTs that are bearers (AIP-4111).
    private static let googleServices: Set<String> = ["https://fcm.googleapis.com/", "https://iid.googleapis.com/"]
    /// Either lets a bearer without `aud` send, as fcm.v1.json says of `messages.send`.
    private static let scopes: Set<Substring> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]

    /// Checks that it is meant to be exchanged here: its audience is exactly the `token_uri` of the credential, or one of
    /// Google's token endpoints. An assertion for any other service's endpoint is refused: who got it there could
    /// exchange it here.
    ///
    /// - Parameter publicURL: under which clients reach the gateway, without a slash at the end.
    func checkForExchange(by key: ServiceAccountKey, publicURL: String) throws(Problem) {
        guard claims.targetAudience == nil else { throw .targetAudience }
        let endpoints = Self.googleTokenEndpoints.union([key.tokenURI ?? publicURL + Self.exchangePath])
        guard let audiences = claims.aud?.values, !audiences.isEmpty, endpoints.isSuperset(of: audiences) else {
            throw .audience
        }
    }

    /// Checks that it is meant as a bearer for this gateway: either without an audience and with a scope that sending
    /// needs, or for the gateway itself or a service of Google's that it stands for. What is meant for a token endpoint
    /// is none: it is shown to other servers.
    ///
    /// - Parameter publicURL: as in ``checkForExchange(by:publicURL:)``.
    func checkAsBearer(publicURL: String) throws(Problem) {
        guard claims.targetAudience == nil else { throw .targetAudience }
        guard let audiences = claims.aud?.values else {
            let scopes = (claims.scope ?? "").split(separator: " ")
            guard scopes.contains(where: Self.scopes.contains) else { throw .scope }
            return
        }
        let own = Self.googleServices.union([publicURL, publicURL + "/"])
        guard !audiences.isEmpty, own.isSuperset(of: audiences) else { throw .bearerAudience }
    }

    /// Checks the signature, and then whether key and account work: who does not have the key does not learn which ids
    /// there are.
    func check(by identity: ServiceAccountIdentity) async throws(Problem) {
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
        guard let keyID = assertion.keyID else { throw .algorithm }
        let identity: ServiceAccountIdentity?
        do {
            identity = try await serviceAccountKey(keyID)
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
        case .malformed, .algorithm, .subject, .audience, .bearerAudience, .scope, .targetAudience, .signature,
            .store:
            .jwtUnusable
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
        case .audience:
            "Invalid JWT: Failed audience check. aud must be the token_uri of the credential or one of Google's token "
                + "endpoints; a credential from before tells the gateway's address by publicURL."
        case .bearerAudience:
            "Invalid JWT: Failed audience check. aud of a bearer must be the gateway's publicURL, "
                + "https://fcm.googleapis.com/ or https://iid.googleapis.com/; exchange others at /token."
        case .scope:
            "Invalid JWT: a bearer without aud needs the scope https://www.googleapis.com/auth/firebase.messaging or "
                + "https://www.googleapis.com/auth/cloud-platform."
        case .targetAudience: "Invalid JWT: it asks for an ID token (target_audience), which is no credential here."
        case .signature: "Invalid JWT Signature."
        case .revoked: "The key of the service account was revoked."
        case .disabled: "The service account is disabled."
        case .store: FCMError.Code.unavailable.message
        }
    }
}
