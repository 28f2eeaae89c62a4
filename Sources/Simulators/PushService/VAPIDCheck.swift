import Crypto
import Foundation

/// Checks who pushes (RFC 8292): a token for this origin that is signed with the key beside it.
struct VAPIDCheck: Sendable {
    /// The longest that a token may be good for (RFC 8292 §2).
    private static let longestSeconds: Int64 = 24 * 3600

    /// Why a push is refused.
    struct Failure: Error, Equatable {
        let text: String
    }

    let origin: String
    let nowMilliseconds: Int64

    /// - Returns: the public key of the sender, 65 bytes.
    func key(of authorization: String?) throws(Failure) -> [UInt8] {
        guard let authorization else { throw Self.unauthorized("the Authorization field is missing") }
        let fields = try Self.fields(of: authorization)
        guard let token = fields["t"], let keyText = fields["k"], let key = bytes(base64URL: keyText),
            key.count == 65, let publicKey = try? P256.Signing.PublicKey(x963Representation: key)
        else { throw Self.unauthorized("t or k is missing, or k is no key of P-256") }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = bytes(base64URL: parts[2]), signature.count == 64
        else { throw Self.unauthorized("t is no JWT") }
        guard header["alg"] as? String == "ES256" else { throw Self.unauthorized("alg must be ES256") }
        // A signature that can't be read is a wrong one.
        guard let value = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            publicKey.isValidSignature(value, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { throw Self.unauthorized("the signature is wrong") }
        try check(claims)
        return key
    }

    private func check(_ claims: [String: Any]) throws(Failure) {
        guard claims["aud"] as? String == origin else {
            throw Self.unauthorized("the aud claim MUST be the origin \(origin)")
        }
        // A text is none: Mozilla's service refuses it too.
        guard let expiry = claims["exp"] as? NSNumber, !(claims["exp"] is String) else {
            throw Self.unauthorized("exp must be a number")
        }
        let left = expiry.int64Value - nowMilliseconds / 1000
        guard left > 0 else { throw Self.unauthorized("the token has expired") }
        guard left <= Self.longestSeconds else { throw Self.unauthorized("exp is more than 24 hours away") }
        guard let subject = claims["sub"] as? String,
            subject.wholeMatch(of: /mailto:[^\s<>@]+@[^\s<>@]+\.[^\s<>@]+|https:\/\/[^\s]+\.[^\s]+/) != nil
        else { throw Self.unauthorized("sub must be a mailto: or https: URL") }
    }

    /// `t` and `k` of `vapid t=…, k=…`; blanks around the comma are as the sender likes (RFC 9110 §11.4 and §5.6.1).
    private static func fields(of authorization: String) throws(Failure) -> [String: Substring] {
        guard authorization.lowercased().hasPrefix("vapid ") else { throw unauthorized("the scheme must be vapid") }
        var fields: [String: Substring] = [:]
        for part in authorization.dropFirst("vapid ".count).split(separator: ",") {
            let pair = part.trimmingPrefix(while: Self.isBlank).split(separator: "=", maxSplits: 1)
            if pair.count == 2 { fields[String(pair[0])] = pair[1].prefix { !Self.isBlank($0) } }
        }
        return fields
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    private static func object(_ part: Substring) -> [String: Any]? {
        guard let bytes = bytes(base64URL: part) else { return nil }
        // What is no JSON is no part of a token.
        return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
    }

    private static func unauthorized(_ text: String) -> Failure { Failure(text: text) }
}
