import Foundation
import JSON
import JWTKit

/// The public keys of a provider (RFC 7517), by which ID tokens are checked.
struct SigningKeys: Sendable {
    /// The algorithms that are taken: those with a public key. With one of a shared secret, or none, a token proves
    /// nothing about the provider.
    static let algorithms = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]
    /// The most keys that are read.
    private static let limit = 100

    fileprivate struct Key: Sendable {
        let id: String?
        let jwk: JWK
    }

    private let keys: [Key]

    /// Reads a key set; keys of a kind that no token is checked with are left out.
    init(_ json: JSONValue) throws(OIDCProblem) {
        keys = (json["keys"]?.elements ?? []).prefix(Self.limit).compactMap { element in
            guard element["use"]?.stringValue ?? "sig" == "sig" else { return nil }
            do {
                let jwk = try JSONDecoder().decode(JWK.self, from: Data(element.bytes))
                return Key(id: element["kid"]?.stringValue, jwk: jwk)
            } catch {
                // A key for encryption, or of a kind that the library does not know.
                return nil
            }
        }
        guard !keys.isEmpty else { throw .description("its jwks_uri has no key that signs") }
    }

    /// Whether a token that names a key, or none, may be signed with one of these.
    func has(_ id: String?) -> Bool { id == nil || keys.contains { $0.id == id } }

    /// Checks a token's signature with the key that it names, by the algorithm that it names; without a name every key
    /// counts.
    ///
    /// - Returns: the token's claims.
    func claims(of token: String, key id: String?, algorithm: String) async throws(OIDCProblem) -> JSONValue {
        let candidates = keys.filter { id == nil || $0.id == id }
        guard !candidates.isEmpty else { throw .token(.unknownKey) }
        for key in candidates {
            guard await key.signed(token, by: algorithm) else { continue }
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            do {
                return try JSONValue(parsing: Base64URL.bytes(parts[1]) ?? [])
            } catch {
                throw .token(.malformed("its claims are no JSON"))
            }
        }
        throw .token(.signature)
    }
}

extension SigningKeys.Key {
    /// That the signature is checked is all: what the claims must be is held against the gateway's own clock.
    private struct Claims: JWTPayload {
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// Whether the key signed a token by an algorithm; `false` also when the key is of another kind.
    fileprivate func signed(_ token: String, by algorithm: String) async -> Bool {
        var jwk = jwk
        guard let named = JWK.Algorithm(rawValue: algorithm), jwk.algorithm ?? named == named else { return false }
        jwk.algorithm = named
        // A collection of one: no other key or algorithm comes into question.
        jwk.keyIdentifier = "key"
        do {
            _ = try await JWTKeyCollection().add(jwk: jwk).verify(token, as: Claims.self)
            return true
        } catch {
            return false
        }
    }
}
