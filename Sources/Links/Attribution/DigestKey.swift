import Crypto
import Foundation
package import HTTPListener
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

    private func digest(_ kind: String, _ text: String) -> KeyedDigest? {
        let code = HMAC<SHA256>.authenticationCode(for: Data("\(kind):\(text)".utf8), using: key)
        return SixteenBytes(code.prefix(16)).map(KeyedDigest.init)
    }
}
