import Crypto
import JSON
import PushModel

extension WebSubscription {
    /// Reads `endpoint` of one object and `p256dh`, `auth` of the same or another one.
    ///
    /// - Returns: `nil` when none of them is there.
    /// - Throws: 400 with the field that is missing or wrong.
    init?(endpointIn body: ObjectReader, keysIn keys: ObjectReader) throws(FCMError) {
        let endpoint = try body.string("endpoint")
        let key = try Self.bytes("p256dh", of: keys)
        let secret = try Self.bytes("auth", of: keys)
        let applicationKey = try Self.bytes("application_pub_key", of: body)
        guard endpoint != nil || key != nil || secret != nil || applicationKey != nil else { return nil }
        guard let endpoint else {
            throw .badRequest(body.fullPath("endpoint"), "The endpoint of the push service is missing.")
        }
        guard let key, Self.isPoint(key) else {
            throw .badRequest(
                keys.fullPath("p256dh"), "p256dh must be a P-256 public key: 65 bytes in base64url.")
        }
        guard let secret, secret.count == 16 else {
            throw .badRequest(keys.fullPath("auth"), "auth must be 16 bytes in base64url.")
        }
        guard applicationKey.map(Self.isPoint) ?? true else {
            throw .badRequest(
                body.fullPath("application_pub_key"),
                "applicationPubKey must be a P-256 public key: 65 bytes in base64url.")
        }
        guard let web = WebSubscription(endpoint: endpoint, key: key, secret: secret, applicationKey: applicationKey)
        else {
            throw .badRequest(
                body.fullPath("endpoint"), "The endpoint must be an https URL of at most \(Self.endpointLimit) bytes.")
        }
        self = web
    }

    /// Base64 of either alphabet, padded or not: browsers and old libraries differ.
    private static func bytes(_ name: String, of body: ObjectReader) throws(FCMError) -> [UInt8]? {
        guard let text = try body.string(name) else { return nil }
        var plain = text.replacing("+", with: "-").replacing("/", with: "_")
        while plain.hasSuffix("=") { plain.removeLast() }
        return Base64URL.bytes(plain) ?? []
    }

    private static func isPoint(_ bytes: [UInt8]) -> Bool {
        // Why it is no point of the curve is no matter.
        bytes.count == 65 && (try? P256.KeyAgreement.PublicKey(x963Representation: bytes)) != nil
    }
}
