import COpenSSL
import Synchronization

/// Bytes of a private key: overwritten before their memory is given back, lent out only for the time of a call.
final class SecretBytes: Sendable {
    // Never copied out of the lock, so that there is only this one buffer to overwrite.
    private let bytes: Mutex<[UInt8]>

    /// Makes `count` bytes that `fill` writes.
    @safe init(count: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        bytes = Mutex(
            unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                unsafe buffer.initialize(repeating: 0)
                unsafe fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
                initialized = count
            })
    }

    /// Lends the bytes. `body` must not call back.
    func withBytes(_ body: (Span<UInt8>) -> Void) {
        bytes.withLock { body($0.span) }
    }

    deinit {
        bytes.withLock { $0.cleanse() }
    }
}

extension Array where Element == UInt8 {
    /// Overwrites the bytes. The array must be the only one with them, or its copy is what is overwritten.
    mutating func cleanse() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
