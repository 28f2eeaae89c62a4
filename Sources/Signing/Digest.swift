import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum Digest {
    /// The digest: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        _ = unsafe SHA256(bytes, bytes.count, &digest)
        return digest
    }
}
