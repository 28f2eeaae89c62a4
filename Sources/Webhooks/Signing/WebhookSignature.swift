import Crypto
import Foundation
package import PushModel
package import Store

/// Signs requests as the Standard Webhooks specification 1.0.0 has it: `<webhook-id>.<webhook-timestamp>.<body>`.
package enum WebhookSignature {
    /// `webhook-signature` of a request: one signature for each secret, the newest first.
    ///
    /// - Parameters:
    ///   - id: `webhook-id`, without a dot.
    ///   - time: when this attempt begins; `webhook-timestamp` has it in seconds.
    package static func header(
        id: String, at time: Timestamp, body: [UInt8], secrets: [WebhookSecret]
    ) throws(InvalidSecret) -> String {
        let content = Data("\(id).\(time.seconds).".utf8) + Data(body)
        var signatures: [String] = []
        for secret in secrets where secret.signs(at: time) { signatures.append(try signature(of: content, secret)) }
        return signatures.joined(separator: " ")
    }

    private static func signature(of content: Data, _ secret: WebhookSecret) throws(InvalidSecret) -> String {
        switch secret.kind {
        case .symmetric:
            let code = HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: secret.bytes))
            return "v1,\(Data(code).base64EncodedString())"
        case .ed25519:
            do {
                let key = try Curve25519.Signing.PrivateKey(rawRepresentation: secret.bytes)
                return "v1a,\(try key.signature(for: content).base64EncodedString())"
            } catch {
                throw InvalidSecret()
            }
        }
    }

    /// A stored key that is none.
    package struct InvalidSecret: Error {}
}

extension WebhookSecret {
    /// How long requests are signed with a secret that was replaced, unless the owner says otherwise.
    package static let usualOverlap: Duration = .seconds(86_400)

    /// Whether requests are signed with it at a time.
    func signs(at time: Timestamp) -> Bool { expiresAt.map { time < $0 } ?? true }

    /// Makes a secret: 32 random bytes.
    package static func random(_ kind: Kind, at time: Timestamp) -> WebhookSecret {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        return WebhookSecret(kind: kind, bytes: bytes, createdAt: time)
    }

    /// What the receiver verifies with: `whsec_` and the bytes themselves, or `whpk_` and the public key; `nil`: it is no key.
    package var receiverText: String? {
        switch kind {
        case .symmetric: return "whsec_" + Data(bytes).base64EncodedString()
        case .ed25519:
            // What is no key signs nothing either, which the sender reports.
            guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else { return nil }
            return "whpk_" + key.publicKey.rawRepresentation.base64EncodedString()
        }
    }

    /// Reads `whsec_…` of 24 to 64 bytes, as another system gave it to a receiver.
    package init?(text: String, at time: Timestamp) {
        guard text.hasPrefix("whsec_"), let data = Data(base64Encoded: String(text.dropFirst(6))),
            (24...64).contains(data.count)
        else { return nil }
        self.init(kind: .symmetric, bytes: [UInt8](data), createdAt: time)
    }
}
