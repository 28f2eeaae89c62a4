import COpenSSL

/// Encrypts messages for browsers: `aes128gcm` (RFC 8188) with keys that only the browser and this message have
/// (RFC 8291), one record.
///
/// Holds what OpenSSL would otherwise look up for each message. Not for use from two threads at once; about a tenth of a
/// millisecond of a core each, so never on a loop thread.
package struct WebPushEncryptor: ~Copyable {
    /// That of the browser whose message is being encrypted.
    private var peer: AgreementKey
    private let generator: AgreementKeyGenerator
    private let mac: HMACContext
    private let cipher: GCMContext
    /// 32 bytes each, overwritten after each message.
    private var shared = [UInt8](repeating: 0, count: 32)
    private var key = [UInt8](repeating: 0, count: 32)
    private var output = [UInt8](repeating: 0, count: 32)
    /// Random bytes for the salts of the next messages. No secrets: each stands in the clear before its message.
    private var salts: [UInt8] = []

    /// The most bytes of a message: a push service must take bodies of 4096 bytes (RFC 8030 §7.2), of which the record
    /// takes ``overhead``.
    package static let plaintextLimit = 4096 - overhead
    /// What the encrypted body has more than the message: the header of RFC 8188 §2.1 with the sender's public key (86),
    /// the delimiter (1) and the tag (16).
    package static let overhead = 86 + 1 + 16
    /// Of the record size in the header: any body that services take is one record.
    private static let recordSize: [UInt8] = [0, 0, 0x10, 0]
    private static let saltLength = 16
    private static let saltsDrawn = 16

    /// - Throws: ``SigningError`` `.library` when OpenSSL does not offer what is needed.
    package init() throws(SigningError) {
        // All of them or none: a value that can't be copied is not made in part.
        let peer = try AgreementKey()
        let generator = try AgreementKeyGenerator()
        let mac = try HMACContext()
        let cipher = try GCMContext()
        self.peer = peer
        self.generator = generator
        self.mac = mac
        self.cipher = cipher
    }

    /// The body of a request that carries `plaintext`, encrypted with a new pair of keys and a new salt.
    ///
    /// - Throws: ``SigningError`` `.tooLong` above ``plaintextLimit``, `.library` when OpenSSL fails.
    package mutating func body(
        of plaintext: [UInt8], for subscription: SubscriptionKeys
    ) throws(SigningError) -> [UInt8] {
        if salts.isEmpty { try drawSalts() }
        let salt = Array(salts.suffix(Self.saltLength))
        salts.removeLast(Self.saltLength)
        return try body(of: plaintext, for: subscription, with: try generator.make(), salt: salt)
    }

    /// Draws salts for some messages: a draw costs about the same for one as for all.
    private mutating func drawSalts() throws(SigningError) {
        ErrorStack.clear()
        var drawn = [UInt8](repeating: 0, count: Self.saltLength * Self.saltsDrawn)
        let isDrawn = unsafe drawn.withUnsafeMutableBufferPointer { buffer in
            unsafe RAND_bytes(buffer.baseAddress, Int32(buffer.count))
        }
        guard isDrawn == 1 else { throw libraryError("RAND_bytes") }
        salts = drawn
    }

    /// The same with keys and salt of the caller's, for test vectors.
    mutating func body(
        of plaintext: [UInt8], for subscription: SubscriptionKeys, with sender: borrowing AgreementKey, salt: [UInt8]
    ) throws(SigningError) -> [UInt8] {
        guard plaintext.count <= Self.plaintextLimit else {
            throw SigningError(
                .tooLong, "A push message has at most \(Self.plaintextLimit) bytes, not \(plaintext.count).")
        }
        defer {
            shared.cleanse()
            key.cleanse()
            output.cleanse()
        }
        var body: [UInt8] = []
        body.reserveCapacity(plaintext.count + Self.overhead)
        body += salt
        body += Self.recordSize
        body.append(UInt8(SubscriptionKeys.publicKeyLength))
        try sender.writePublicKey(to: &body)
        try peer.readPublicKey(subscription.publicKey)
        try sender.agree(with: peer, into: &shared)
        try deriveInput(for: subscription, sender: body[(Self.saltLength + 5)...])
        // RFC 8188 §2.2 and §2.3: key and nonce of the content, from the salt.
        try mac.authenticate(key, with: salt, into: &output)
        swap(&key, &output)
        try mac.authenticate(Self.nonceInfo, with: key, into: &shared)
        try mac.authenticate(Self.contentKeyInfo, with: key, into: &output)
        try cipher.seal(plaintext, delimiter: 2, key: output, nonce: shared, onto: &body)
        return body
    }

    /// What the content's keys come from (`IKM` of RFC 8291 §3.4), into ``key``.
    private mutating func deriveInput(
        for subscription: SubscriptionKeys, sender: ArraySlice<UInt8>
    ) throws(SigningError) {
        try mac.authenticate(shared, with: subscription.secret, into: &key)
        var info = Self.keyInfo
        info += subscription.publicKey
        info += sender
        info.append(1)
        try mac.authenticate(info, with: key, into: &output)
        swap(&key, &output)
    }

    private static let keyInfo = Array("WebPush: info".utf8) + [0]
    private static let contentKeyInfo = Array("Content-Encoding: aes128gcm".utf8) + [0, 1]
    private static let nonceInfo = Array("Content-Encoding: nonce".utf8) + [0, 1]
}
