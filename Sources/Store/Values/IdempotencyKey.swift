package import PushModel

/// What makes a repeated request the same one: the sender's `Idempotency-Key`, and a digest of the body that came with
/// it. Counts for ``lifetime``.
package struct IdempotencyKey: Hashable, Sendable {
    /// How long a key counts unless the project says otherwise.
    package static let standardLifetime: Duration = .seconds(86_400)

    /// The key as sent (of an item of a batch: with its place appended), 1 to 300 bytes.
    package var key: String
    /// SHA-256 of the request's body, 32 bytes.
    package var digest: [UInt8]
    /// Of an item of a batch: the key of the whole batch, which is used up with its first item.
    package var batch: String?
    /// How long it counts from the accept of its message.
    package var lifetime: Duration

    /// Puts a key together.
    package init(
        key: String, digest: [UInt8], batch: String? = nil, lifetime: Duration = Self.standardLifetime
    ) {
        self.lifetime = lifetime
        self.key = key
        self.digest = digest
        self.batch = batch
    }

    /// The key of the whole batch; `nil`: it is no item of one.
    package var ofBatch: IdempotencyKey? { batch.map { IdempotencyKey(key: $0, digest: digest, lifetime: lifetime) } }
}

/// What is known of an idempotency key.
package enum IdempotencyUse: Hashable, Sendable {
    /// It did not come, or does not count any more.
    case unused
    /// It came with the same body, which made this message.
    case same(MessageID)
    /// It came with another body.
    case other
}
