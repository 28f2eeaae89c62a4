import Crypto
import Foundation

/// Reads the body of a push as the browser would: `aes128gcm` of one record (RFC 8188) with the keys of RFC 8291, on
/// swift-crypto.
struct PushDecryption: Error, Equatable {
    /// What is wrong with the body.
    let problem: String

    private static let headerLength = 86

    /// The plaintext for a subscription.
    static func plaintext(of body: [UInt8], for subscription: PushSubscription) throws(PushDecryption) -> [UInt8] {
        guard body.count > headerLength + 17, body[20] == 65 else {
            throw PushDecryption(problem: "the header of the encryption is wrong")
        }
        let salt = Array(body[..<16])
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let record = body[headerLength...]
        guard record.count <= recordSize else { throw PushDecryption(problem: "there is more than one record") }
        // A key that is none and a tag that is wrong are problems of the body, with a text of their own.
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: body[21..<headerLength]),
            let shared = try? subscription.key.sharedSecretFromKeyAgreement(with: sender)
        else { throw PushDecryption(problem: "the sender's key is no point of P-256") }
        // `IKM` of RFC 8291 §3.4, then `PRK` of RFC 8188 §2.2.
        let point = Array(body[21..<headerLength])
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.secret,
            sharedInfo: Array("WebPush: info".utf8) + [0] + subscription.publicKey + point,
            outputByteCount: 32)
        let key = Array(HKDF<SHA256>.extract(inputKeyMaterial: input, salt: salt))
        let contentKey = authenticationCode(key, Array("Content-Encoding: aes128gcm".utf8) + [0, 1]).prefix(16)
        let nonce = authenticationCode(key, Array("Content-Encoding: nonce".utf8) + [0, 1]).prefix(12)
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: record.dropLast(16), tag: record.suffix(16)),
            let padded = try? AES.GCM.open(box, using: SymmetricKey(data: contentKey))
        else { throw PushDecryption(problem: "the body is not encrypted for this subscription") }
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else {
            throw PushDecryption(problem: "the delimiter of the last record is missing")
        }
        return Array(padded[..<end])
    }

    private static func authenticationCode(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }
}
