import Crypto
import Foundation
import PushModel
import Store
import Testing
import Webhooks

/// Signatures are those of Standard Webhooks 1.0.0.
@Suite(.timeLimit(.minutes(1)))
struct SignatureTests {
    private static let time = Timestamp(seconds: 1_614_265_330)
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let body = Array(#"{"test": 2432232314}"#.utf8)

    /// The vector that the reference libraries are tested with.
    @Test func theVectorOfTheReferenceLibraries() throws {
        let secret = try #require(WebhookSecret(text: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: Self.time))
        let header = try WebhookSignature.header(id: Self.id, at: Self.time, body: Self.body, secrets: [secret])
        #expect(header == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(secret.receiverText == "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    }

    @Test func aKeyPairSignsSoThatItsPublicKeyVerifies() throws {
        let secret = WebhookSecret.random(.ed25519, at: Self.time)
        let header = try WebhookSignature.header(id: Self.id, at: Self.time, body: Self.body, secrets: [secret])
        #expect(header.hasPrefix("v1a,"))
        let text = try #require(secret.receiverText)
        #expect(text.hasPrefix("whpk_"))
        let key = try Curve25519.Signing.PublicKey(
            rawRepresentation: #require(Data(base64Encoded: String(text.dropFirst(5)))))
        let signature = try #require(Data(base64Encoded: String(header.dropFirst(4))))
        let content = Data("\(Self.id).1614265330.".utf8) + Data(Self.body)
        #expect(key.isValidSignature(signature, for: content))
        #expect(!key.isValidSignature(signature, for: content + [0]))
    }

    /// While a secret is replaced both sign, and after the overlap the new one alone.
    @Test func replacedSecretsSignUntilTheirEnd() throws {
        var old = WebhookSecret.random(.symmetric, at: Self.time)
        old.expiresAt = Self.time + .seconds(10)
        let new = WebhookSecret.random(.symmetric, at: Self.time)
        func signatures(at time: Timestamp) throws -> [Substring] {
            try WebhookSignature.header(id: Self.id, at: time, body: Self.body, secrets: [new, old])
                .split(separator: " ")
        }
        #expect(try signatures(at: Self.time).count == 2)
        #expect(try signatures(at: Self.time + .milliseconds(9999)).count == 2)
        #expect(try signatures(at: Self.time + .seconds(10)).count == 1)
    }

    @Test(arguments: [
        "", "whsec_", "whsec_YWJj", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!",
        "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ])
    func otherTextsAreNoSecrets(text: String) {
        #expect(WebhookSecret(text: text, at: Self.time) == nil)
    }
}
