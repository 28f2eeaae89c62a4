import Crypto
import CryptoExtras
import Foundation
import JSON

/// Hashes of passwords by scrypt (RFC 7914), written as `scrypt$N$r$p$salt$code`.
enum PasswordHash {
    /// The fewest characters of a password.
    static let shortest = 12
    /// The most bytes of a password: what is hashed has a limit.
    static let longest = 1024

    /// What a hash costs, unless it is made with another number: 32 MiB, some tens of milliseconds.
    static let rounds = 1 << 15
    private static let blockSize = 8
    private static let length = 32
    /// What is kept is a code made with the derived key, not the key.
    private static let purpose = Data("herald operator password".utf8)

    /// The hash of a password, with a salt of its own.
    static func make(_ password: String, rounds: Int = Self.rounds) throws -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let key = try derive(password, salt: salt, rounds: rounds, blockSize: blockSize, parallelism: 1)
        let hash = HMAC<SHA256>.authenticationCode(for: purpose, using: key)
        return "scrypt$\(rounds)$\(blockSize)$1$\(Base64URL.text(salt))$\(Base64URL.text(hash))"
    }

    /// Whether a password is the one of a hash; takes as long for a hash that is none (`nil`).
    static func matches(_ password: String, _ text: String?) throws -> Bool {
        let parts = (text ?? "").split(separator: "$")
        guard parts.count == 6, parts[0] == "scrypt", let rounds = Int(parts[1]), let blockSize = Int(parts[2]),
            let parallelism = Int(parts[3]), let salt = Base64URL.bytes(parts[4]), let hash = Base64URL.bytes(parts[5])
        else {
            _ = try derive(password, salt: [], rounds: rounds, blockSize: blockSize, parallelism: 1)
            return false
        }
        let key = try derive(
            password, salt: salt, rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        return HMAC<SHA256>.isValidAuthenticationCode(hash, authenticating: purpose, using: key)
    }

    private static func derive(
        _ password: String, salt: [UInt8], rounds: Int, blockSize: Int, parallelism: Int
    ) throws -> SymmetricKey {
        try KDF.Scrypt.deriveKey(
            from: Data(password.utf8), salt: salt, outputByteCount: length, rounds: rounds, blockSize: blockSize,
            parallelism: parallelism)
    }
}

/// Hashes passwords one after the other on a queue of their own: each takes 32 MiB and some tens of milliseconds, which no
/// thread of the cooperative pool is kept for.
actor PasswordChecker {
    /// How many may wait; more are told to come again.
    private static let limit = 16
    private let queue = DispatchQueue(label: "herald.passwords")
    private var waiting = 0

    /// Whether a password is the one of a hash; `nil`: too many wait.
    func matches(_ password: String, _ hash: String?) async throws -> Bool? {
        guard waiting < Self.limit else { return nil }
        waiting += 1
        defer { waiting -= 1 }
        return try await run { try PasswordHash.matches(password, hash) }
    }

    /// The hash of a new password.
    func hash(_ password: String) async throws -> String {
        try await run { try PasswordHash.make(password) }
    }

    private func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }
}
