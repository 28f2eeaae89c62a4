import JSON
import PushModel

/// An ID token (OpenID Connect Core 1.0 §2): by which a provider says who signed in.
struct IDToken: Sendable {
    /// The claims, after the signature was checked.
    let claims: JSONValue

    /// The largest token in bytes; those with many groups have a few thousand.
    static let limitBytes = 64 << 10
    /// How far the clocks of provider and gateway may be apart.
    static let leeway: Duration = .seconds(60)

    /// The part of a token that is read before its signature is checked.
    struct Header: Sendable {
        /// How it says that it is signed.
        let algorithm: String
        /// The key that it names.
        let keyID: String?

        /// Reads the header of a token.
        init(of token: String) throws(OIDCProblem) {
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            guard token.utf8.count <= IDToken.limitBytes, parts.count == 3, let bytes = Base64URL.bytes(parts[0]) else {
                throw .token(.malformed("it is no JWT"))
            }
            let json: JSONValue
            do {
                json = try JSONValue(parsing: bytes)
            } catch {
                throw .token(.malformed("its header is no JSON"))
            }
            guard let algorithm = json["alg"]?.stringValue, json["crit"] == nil else {
                throw .token(.malformed("its header names no algorithm"))
            }
            guard SigningKeys.algorithms.contains(algorithm) else {
                throw .token(.algorithm(String(algorithm.prefix(20))))
            }
            self.algorithm = algorithm
            keyID = json["kid"]?.stringValue
        }
    }

    /// What a token is held against.
    struct Expected: Sendable {
        /// Who must have issued it.
        var issuer: String
        /// Whom it must be for.
        var clientID: String
        /// The sign-in that it must be of.
        var nonce: String
        /// Since when the operator must have proved who they are; `nil`: that does not matter.
        var provenSince: Timestamp?
    }

    /// Takes claims whose signature was checked, and checks them (§3.1.3.7).
    init(_ claims: JSONValue, _ expected: Expected, at now: Timestamp) throws(OIDCProblem) {
        self.claims = claims
        guard claims["iss"]?.stringValue == expected.issuer else { throw .token(.issuer) }
        let audience = claims["aud"]?.texts ?? []
        let party = claims["azp"]?.stringValue
        guard audience.contains(expected.clientID), party == nil || party == expected.clientID,
            audience.count == 1 || party != nil
        else { throw .token(.audience) }
        guard let end = claims["exp"]?.time, let begin = claims["iat"]?.time else {
            throw .token(.malformed("it has no exp or iat"))
        }
        let latest = max(begin, claims["nbf"]?.time ?? begin)
        guard now < end + Self.leeway, latest < now + Self.leeway else { throw .token(.times) }
        guard claims["nonce"]?.stringValue == expected.nonce else { throw .token(.nonce) }
        guard claims["sub"]?.stringValue?.isEmpty == false else { throw .token(.malformed("it has no sub")) }
        guard let since = expected.provenSince else { return }
        guard let provenAt, since < provenAt + Self.leeway else { throw .token(.proof) }
    }

    /// When the operator proved to the provider who they are; `nil`: it does not say.
    var provenAt: Timestamp? { claims["auth_time"]?.time }
}

extension JSONValue {
    /// The texts of a claim that may be one or several.
    var texts: [String] { stringValue.map { [$0] } ?? elements.compactMap(\.stringValue) }

    /// A time in seconds since the epoch, perhaps with a fraction.
    fileprivate var time: Timestamp? {
        guard case .number(let text) = self, let seconds = Double(text), seconds.magnitude < 1e12 else { return nil }
        return Timestamp(milliseconds: Int64(seconds * 1000))
    }
}
