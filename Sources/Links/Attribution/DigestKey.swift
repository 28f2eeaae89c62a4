import Crypto
import Foundation
package import HTTPListener
package import PushModel
package import Store

/// Makes the digests under which addresses and install ids are kept.
package struct DigestKey: Sendable {
    private let key: SymmetricKey

    /// Takes the store's key.
    package init(_ bytes: [UInt8]) {
        key = SymmetricKey(data: bytes)
    }

    /// The digest of an address: of IPv4 the whole, of IPv6 the network of 64 bits.
    package func address(_ address: ClientAddress) -> KeyedDigest? { digest("address", address.text) }

    /// The digest of what an install calls itself.
    package func install(_ id: String) -> KeyedDigest? { digest("install", id) }

    /// The digest of a user of a project, in hex: what the audit log calls a person that was erased.
    package func user(_ user: UserID, in project: ProjectID) -> String {
        let bytes = digest("user", "\(project) \(user)")?.value.bytes ?? []
        return bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func digest(_ kind: String, _ text: String) -> KeyedDigest? {
        let code = HMAC<SHA256>.authenticationCode(for: Data("\(kind):\(text)".utf8), using: key)
        return SixteenBytes(code.prefix(16)).map(KeyedDigest.init)
    }
}
