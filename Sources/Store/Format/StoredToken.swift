import JSON
package import PushModel

/// What `registration.token` holds for the token that senders hold.
///
/// | column | token |
/// |---|---|
/// | 24 bytes | made here: `<FID>:APA91b` and 134 characters that are computed from these bytes |
/// | text that begins with `:` | the FID with this text after it |
/// | any other text | the text itself: a token without its FID in front, such as an old one of FCM that was imported |
///
/// All 192 bits of the seed stand in the token's first characters, so two seeds never make the same token; the rest only
/// gives it the length and the look of FCM's, which senders' databases and checks are made for.
package enum StoredToken: Hashable {
    case seed([UInt8])
    case tail(String)
    case whole(String)

    /// The length of a seed.
    package static let seedBytes = 24
    private static let prefix = ":APA91b"
    private static let length = 134

    /// A new token from the system's generator of random numbers.
    package static func random() -> StoredToken {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(seedBytes)
        while bytes.count < seedBytes {
            var word: UInt64 = generator.next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return .seed(bytes)
    }

    /// How `token` is kept for a registration with this FID.
    package init(_ token: RegistrationToken, of id: RegistrationID) {
        guard token.rawValue.hasPrefix(id.rawValue + ":") else {
            self = .whole(token.rawValue)
            return
        }
        let tail = String(token.rawValue.dropFirst(id.rawValue.utf8.count))
        let seed = Base64URL.bytes(String(tail.dropFirst(Self.prefix.utf8.count).prefix(32)))
        // A token that was made here and comes back by an import is kept as it was.
        if let seed, seed.count == Self.seedBytes, StoredToken.seed(seed).text(after: id.rawValue) == token.rawValue {
            self = .seed(seed)
        } else {
            self = .tail(tail)
        }
    }

    /// The token of the registration with this FID.
    package func token(of fid: String) throws -> RegistrationToken {
        guard let token = RegistrationToken(rawValue: text(after: fid)) else {
            throw StoreError.invalid("a registration token")
        }
        return token
    }

    private func text(after fid: String) -> String {
        switch self {
        case .seed(let bytes): fid + Self.prefix + Self.text(of: bytes)
        case .tail(let tail): fid + tail
        case .whole(let text): text
        }
    }

    /// The seed's 32 base64url characters, then those of SplitMix64 begun with the seed.
    private static func text(of seed: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(length)
        var position = 0
        while position < seed.count {
            var bits = UInt32(seed[position]) << 16 | UInt32(seed[position + 1]) << 8 | UInt32(seed[position + 2])
            for _ in 0..<4 {
                text.append(alphabet[Int(bits >> 18 & 63)])
                bits <<= 6
            }
            position += 3
        }
        var state = seed.reduce(0) { ($0 &* 0x0000_0100_0000_01b3) ^ UInt64($1) }
        while text.count < length {
            state &+= 0x9e37_79b9_7f4a_7c15
            var bits = state
            bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
            bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
            bits ^= bits >> 31
            for _ in 0..<min(10, length - text.count) {
                text.append(alphabet[Int(bits & 63)])
                bits >>= 6
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}

extension RegistrationID {
    /// A new FID from the system's generator of random numbers.
    package static func random() throws -> RegistrationID {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let first = Array("cdef".utf8)
        var text = [first[Int.random(in: 0..<4, using: &generator)]]
        text.reserveCapacity(22)
        while text.count < 22 {
            var bits: UInt64 = generator.next()
            for _ in 0..<min(10, 22 - text.count) {
                text.append(alphabet[Int(bits & 63)])
                bits >>= 6
            }
        }
        guard let id = RegistrationID(rawValue: String(decoding: text, as: UTF8.self)) else {
            throw StoreError.invalid("a registration id")
        }
        return id
    }
}

extension RegistrationToken {
    /// Whether it looks like a token that Google issued: FCM's form and length, and not made by a gateway.
    package var isOfGoogle: Bool {
        rawValue.utf8.count >= 140 && rawValue.contains(":APA91b") && !isOfGateway
    }

    /// Whether it has the form of those that a gateway makes.
    package var isOfGateway: Bool {
        guard let id, case .seed = StoredToken(self, of: id) else { return false }
        return true
    }

    /// The FID in front; `nil` for a token of another kind.
    package var id: RegistrationID? {
        RegistrationID(rawValue: String(rawValue.prefix { $0 != ":" }))
    }

    /// Whether both are the same, in a time that does not depend on where they differ.
    package func matches(_ other: RegistrationToken) -> Bool {
        let mine = Array(rawValue.utf8)
        let others = Array(other.rawValue.utf8)
        guard mine.count == others.count else { return false }
        return zip(mine, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
