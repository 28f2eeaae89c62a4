import Crypto
import Synchronization

/// A provider token whose signature was verified.
struct ProviderToken: Sendable, Equatable {
    /// The JWT.
    var text: String
    /// `iss`, which is the team of the key.
    var teamID: String
    /// `kid`.
    var keyID: String
    /// `iat`, seconds since 1970.
    var issuedAt: Int64
    /// Bundle ids that the key may push to; empty: any.
    var topics: Set<String>
}

/// Verifies provider tokens against the accepted keys (Apple, "Establishing a token-based connection to APNs").
///
/// As lenient as Apple is known to be: the signature is raw r‖s (RFC 7518) or DER, base64 may be padded.
final class ProviderTokenVerifier: Sendable {
    /// The oldest token that is accepted.
    static let maximumAgeSeconds: Int64 = 3600
    /// How far `iat` may lie ahead.
    static let toleranceSeconds: Int64 = 300
    /// How many verified tokens are remembered; a sender has a handful.
    private static let cacheLimit = 1024

    private struct Key: Sendable {
        var teamID: String
        var publicKey: P256.Signing.PublicKey
        var topics: Set<String>
    }

    private let keys: [String: Key]
    private let verified = Mutex<[String: ProviderToken]>([:])

    init(_ accepted: [AcceptedProviderKey]) throws {
        var keys: [String: Key] = [:]
        for key in accepted {
            keys[key.keyID] = Key(
                teamID: key.teamID, publicKey: try key.verifyingKey(), topics: Set(key.topics))
        }
        self.keys = keys
    }

    /// The token of an `authorization` header, its signature and age checked.
    ///
    /// - Parameter known: the token that the connection used last, so that the usual case needs no lock.
    func verify(
        authorization: String?, known: ProviderToken?, now: Int64
    ) throws(Refusal) -> ProviderToken {
        guard let authorization, !authorization.isEmpty else { throw .missingProviderToken }
        let scheme = "bearer "
        guard authorization.hasPrefix(scheme) else { throw .invalidProviderToken }
        let text = authorization.dropFirst(scheme.count)
        let token: ProviderToken
        if let known, known.text == text {
            token = known
        } else {
            token = try remembered(String(text))
        }
        guard token.issuedAt <= now + Self.toleranceSeconds else { throw .invalidProviderToken }
        guard now - token.issuedAt <= Self.maximumAgeSeconds else { throw .expiredProviderToken }
        return token
    }

    private func remembered(_ text: String) throws(Refusal) -> ProviderToken {
        if let token = verified.withLock({ $0[text] }) { return token }
        guard let token = read(text) else { throw .invalidProviderToken }
        verified.withLock { cache in
            if cache.count >= Self.cacheLimit { cache.removeAll() }
            cache[text] = token
        }
        return token
    }

    private func read(_ text: String) -> ProviderToken? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = object(parts[0]), let claims = object(parts[1]), let signature = base64Decoded(parts[2]),
            header["alg"]?.text == "ES256", let keyID = header["kid"]?.text, let key = keys[keyID],
            let teamID = claims["iss"]?.text, teamID == key.teamID, let issuedAt = claims["iat"]?.integer,
            (0...253_402_300_799).contains(issuedAt)
        else { return nil }
        let signed = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        guard isValid(signature, of: signed, by: key.publicKey) else { return nil }
        return ProviderToken(text: text, teamID: teamID, keyID: keyID, issuedAt: issuedAt, topics: key.topics)
    }

    private func object(_ part: Substring) -> JSON? {
        guard let bytes = base64Decoded(part), String(validating: bytes, as: UTF8.self) != nil,
            let json = JSON.read(bytes), case .object = json
        else { return nil }
        return json
    }

    private func isValid(_ signature: [UInt8], of signed: [UInt8], by key: P256.Signing.PublicKey) -> Bool {
        if signature.count == 64 {
            do {
                let raw = try P256.Signing.ECDSASignature(rawRepresentation: signature)
                if key.isValidSignature(raw, for: signed) { return true }
            } catch {
                // Not a raw signature: DER of 64 bytes is possible, if rare.
            }
        }
        do {
            return key.isValidSignature(try P256.Signing.ECDSASignature(derRepresentation: signature), for: signed)
        } catch {
            return false
        }
    }
}

/// The bytes behind base64 in either alphabet (RFC 4648 §4 and §5), padded or not; `nil`: not base64.
func base64Decoded(_ text: some StringProtocol) -> [UInt8]? {
    let all = Array(text.utf8)
    var characters = all[...]
    if all.count.isMultiple(of: 4) {
        while characters.last == UInt8(ascii: "="), characters.count > all.count - 2 { characters.removeLast() }
    }
    guard characters.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for character in characters {
        guard let value = base64Value(character) else { return nil }
        buffer = buffer << 6 | value
        bits += 6
        if bits >= 8 {
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
        }
    }
    return bytes
}

private func base64Value(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
    case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
    default: nil
    }
}
