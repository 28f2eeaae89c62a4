import Crypto
import Foundation
import JSON
package import PushModel
package import Store

/// An API key as its holder sees it: `hk_<id>_<secret>`. Shown once, never stored.
package struct APIKey: Sendable {
    /// The key's text.
    package let text: String
    /// What the store keeps of it.
    package let record: APIKeyRecord

    /// Makes a new key from the system's random source.
    ///
    /// - Parameters:
    ///   - name: what its holder calls it, see ``APIKeyRecord/isName(_:)``.
    ///   - expiresAt: from when on it is refused; `nil`: it works until it is revoked.
    package init(
        project: ProjectID, role: Role, at time: Timestamp, name: String? = nil, expiresAt: Timestamp? = nil
    ) {
        var random = SystemRandomNumberGenerator()
        self.init(project: project, role: role, at: time, name: name, expiresAt: expiresAt, using: &random)
    }

    /// Makes a new key: 64 bits name it, 256 bits keep it secret.
    init(
        project: ProjectID, role: Role, at time: Timestamp, name: String? = nil, expiresAt: Timestamp? = nil,
        using random: inout some RandomNumberGenerator
    ) {
        let id = Self.bytes(8, using: &random).map(Self.hex).joined()
        let secret = Base64URL.text(Self.bytes(32, using: &random))
        text = "hk_\(id)_\(secret)"
        record = APIKeyRecord(
            id: id, project: project, role: role, digest: Self.digest(of: text), createdAt: time, revokedAt: nil,
            name: name, expiresAt: expiresAt)
    }

    /// The id inside a key's text; `nil` when the text has not the form of a key.
    package static func id(in text: String) -> String? {
        let bytes = text.utf8
        guard bytes.count <= 512, bytes.starts(with: "hk_".utf8) else { return nil }
        let rest = bytes.dropFirst(3)
        guard let end = rest.firstIndex(of: UInt8(ascii: "_")), end < bytes.index(before: bytes.endIndex) else {
            return nil
        }
        let id = rest[..<end]
        return (1...64).contains(id.count) ? String(Substring(id)) : nil
    }

    /// What the store keeps of a key's text.
    static func digest(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }

    /// Whether `text` is the key that `record` was made from. Takes the same time wherever the two differ.
    static func matches(_ text: String, _ record: APIKeyRecord) -> Bool {
        SHA256.hash(data: Data(text.utf8)) == record.digest
    }

    private static func bytes(_ count: Int, using random: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}

extension APIKey: CustomStringConvertible {
    /// The id only: the text is a secret.
    package var description: String { "API key \(record.id)" }
}
