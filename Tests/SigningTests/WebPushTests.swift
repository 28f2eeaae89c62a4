import Crypto
import Foundation
import JSON
import Testing

@testable import Signing

/// Messages for browsers, checked against the vectors of the RFCs and opened by swift-crypto: another implementation than
/// the one that encrypts.
struct WebPushEncryptorTests {
    private let browser = P256.KeyAgreement.PrivateKey()
    private let secret = (0..<16).map { _ in UInt8.random(in: 0...255) }

    /// RFC 8291 §5 and appendix A.
    private enum Vector {
        static let plaintext = "When I grow up, I want to be a watermelon"
        static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
        static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
        static let browserKey =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        static let senderScalar = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        static let senderKey = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
        static let body =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK"
            + "6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    }

    @Test func `The body is that of the RFC`() throws {
        let subscription = try SubscriptionKeys(publicKey: bytes(Vector.browserKey), secret: bytes(Vector.secret))
        let sender = try AgreementKey(privateKey: bytes(Vector.senderScalar), publicKey: bytes(Vector.senderKey))
        var encryptor = try WebPushEncryptor()
        let body = try encryptor.body(
            of: Array(Vector.plaintext.utf8), for: subscription, with: sender, salt: bytes(Vector.salt))
        #expect(Base64URL.text(body) == Vector.body)
        #expect(body.count == 144)
    }

    @Test func `The content is encrypted as RFC 8188 has it`() throws {
        // §3.1: keys of their own and no sender's key in the header.
        var body: [UInt8] = []
        let mac = try HMACContext()
        var (derived, key, nonce) = (zeros, zeros, zeros)
        try mac.authenticate(bytes("yqdlZ-tYemfogSmv7Ws5PQ"), with: bytes("I1BsxtFttlv3u_Oo94xnmw"), into: &derived)
        try mac.authenticate(Array("Content-Encoding: aes128gcm".utf8) + [0, 1], with: derived, into: &key)
        try mac.authenticate(Array("Content-Encoding: nonce".utf8) + [0, 1], with: derived, into: &nonce)
        try GCMContext().seal(Array("I am the walrus".utf8), delimiter: 2, key: key, nonce: nonce, onto: &body)
        let record = try bytes("I1BsxtFttlv3u_Oo94xnmw") + [0, 0, 16, 0, 0] + body
        #expect(
            Base64URL.text(record) == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000, WebPushEncryptor.plaintextLimit])
    func `Another implementation opens what one encryptor makes`(length: Int) throws {
        var encryptor = try WebPushEncryptor()
        var seen: Set<[UInt8]> = []
        for _ in 0..<20 {
            let plaintext = (0..<length).map { _ in UInt8.random(in: 0...255) }
            let body = try encryptor.body(of: plaintext, for: try subscription())
            #expect(body.count == length + WebPushEncryptor.overhead)
            #expect(try opened(body) == plaintext + [2])
            // Salt and key are of this message alone.
            #expect(seen.insert(Array(body[..<16])).inserted)
            #expect(seen.insert(Array(body[21..<86])).inserted)
        }
    }

    @Test func `A message that is too long is refused`() throws {
        var encryptor = try WebPushEncryptor()
        let plaintext = [UInt8](repeating: 1, count: WebPushEncryptor.plaintextLimit + 1)
        #expect(WebPushEncryptor.plaintextLimit == 3993)
        #expect { try encryptor.body(of: plaintext, for: try subscription()) } throws: {
            ($0 as? SigningError)?.code == .tooLong
        }
    }

    @Test(arguments: [
        ([UInt8](repeating: 4, count: 65), 16, "p256dh"), ([4] + [UInt8](repeating: 0, count: 64), 16, "p256dh"),
        ([UInt8](), 16, "p256dh"), ([2] + [UInt8](repeating: 1, count: 32), 16, "p256dh"),
    ])
    func `What is no point of the curve is refused`(point: [UInt8], length: Int, name: String) {
        #expect { try SubscriptionKeys(publicKey: point, secret: [UInt8](repeating: 0, count: length)) } throws: {
            guard let error = $0 as? SigningError else { return false }
            return error.code == .notASubscriptionKey && error.message.contains(name)
        }
    }

    @Test(arguments: [0, 15, 17]) func `A secret of another length is refused`(length: Int) {
        #expect {
            try SubscriptionKeys(
                publicKey: Array(browser.publicKey.x963Representation), secret: [UInt8](repeating: 0, count: length))
        } throws: {
            guard let error = $0 as? SigningError else { return false }
            return error.code == .notASubscriptionKey && error.message.contains("auth")
        }
    }

    private let zeros = [UInt8](repeating: 0, count: 32)

    private func subscription() throws -> SubscriptionKeys {
        try SubscriptionKeys(publicKey: Array(browser.publicKey.x963Representation), secret: secret)
    }

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.bytes(text)) }

    /// What the browser makes of a body, the delimiter with it.
    private func opened(_ body: [UInt8]) throws -> [UInt8] {
        let (salt, sender) = (body[..<16], body[21..<86])
        #expect(Array(body[16..<21]) == [0, 0, 16, 0, 65])
        let senderKey = try P256.KeyAgreement.PublicKey(x963Representation: sender)
        let agreed = try browser.sharedSecretFromKeyAgreement(with: senderKey)
        let info = Data("WebPush: info".utf8) + [0] + browser.publicKey.x963Representation + sender
        let input = agreed.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: Data(secret), sharedInfo: info, outputByteCount: 32)
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: Data(salt), info: Data(info.utf8) + [0], outputByteCount: count)
        }
        let nonce = unsafe derived("Content-Encoding: nonce", 12).withUnsafeBytes { unsafe Data($0) }
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce), ciphertext: body[86..<body.count - 16], tag: body.suffix(16))
        return Array(try AES.GCM.open(box, using: derived("Content-Encoding: aes128gcm", 16)))
    }
}

struct VAPIDTokenTests {
    private let reference = P256.Signing.PrivateKey()

    @Test func `The token is that of RFC 8292`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let token = try VAPIDToken.signed(
            audience: "https://push.example.net", subject: "mailto:push@example.com", expiresAt: 1_453_523_768,
            with: key)
        let parts = token.split(separator: ".").map(String.init)
        #expect(try text(parts[0]) == #"{"typ":"JWT","alg":"ES256"}"#)
        #expect(
            try text(parts[1])
                == #"{"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:push@example.com"}"#)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.bytes(parts[2])))
        #expect(reference.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    /// RFC 8292 §2.4: what we sign is what stands there, byte for byte, and its signature is by the key that is named.
    @Test func `The sample of RFC 8292 verifies`() throws {
        let sample =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Njgs"
            + "InN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrEr"
            + "tmysazNjjvW2L9OkSSHzvoD1oA"
        let point = try #require(
            Base64URL.bytes("BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"))
        let parts = sample.split(separator: ".").map(String.init)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.bytes(parts[2])))
        let signed = "\(parts[0]).\(parts[1])"
        let publicKey = try P256.Signing.PublicKey(x963Representation: point)
        #expect(publicKey.isValidSignature(signature, for: Data(signed.utf8)))
        let own = try VAPIDToken.signed(
            audience: "https://push.example.net", subject: "mailto:push@example.com", expiresAt: 1_453_523_768,
            with: try ES256PrivateKey(pem: reference.pemRepresentation))
        #expect(own.split(separator: ".").prefix(2).joined(separator: ".") == signed)
        #expect(!reference.publicKey.isValidSignature(signature, for: Data(signed.utf8)))
    }

    @Test func `The header carries the point of the key`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        #expect(key.publicPoint == Array(reference.publicKey.x963Representation))
        let point = Base64URL.text(reference.publicKey.x963Representation)
        #expect(VAPIDToken.authorization("a.b.c", of: key) == "vapid t=a.b.c, k=\(point)")
    }

    private func text(_ part: String) throws -> String {
        String(decoding: try #require(Base64URL.bytes(part)), as: UTF8.self)
    }
}
