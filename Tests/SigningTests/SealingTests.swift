import Crypto
import Foundation
import Testing

@testable import Signing

/// Secrets that only those can open who have a private key.
struct SealingTests {
    private let reference = P256.Signing.PrivateKey()
    private let context = Array("TEAM123456 ABC1234567 1".utf8)

    private func sealingKey(
        _ key: P256.Signing.PrivateKey? = nil, for purpose: String = "a test"
    ) throws -> SealingKey {
        try ES256PrivateKey(pem: (key ?? reference).pemRepresentation).sealingKey(for: purpose)
    }

    @Test(arguments: [0, 1, 16, 300])
    func anotherImplementationOpensWhatIsSealedAndTheOtherWayRound(length: Int) throws {
        let secret = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: reference.rawRepresentation), info: Array("a test".utf8),
            outputByteCount: 32)
        let sealed = try sealingKey().seal(secret, as: context)
        #expect(sealed.count == length + SealingKey.overhead)
        let box = try AES.GCM.SealedBox(combined: sealed)
        #expect(try Array(AES.GCM.open(box, using: derived, authenticating: context)) == secret)
        let other = try #require(try AES.GCM.seal(secret, using: derived, authenticating: context).combined)
        #expect(try sealingKey().open(Array(other), as: context) == secret)
    }

    @Test func aKeyOfBytesSealsAsTheStandardSays() throws {
        let bytes = (0..<32).map { UInt8($0) }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Array("a test".utf8), outputByteCount: 32)
        let key = try SealingKey(of: bytes, for: "a test")
        let box = try AES.GCM.SealedBox(combined: try key.seal([1, 2, 3], as: context))
        #expect(try Array(AES.GCM.open(box, using: derived, authenticating: context)) == [1, 2, 3])
        let other = try SealingKey(of: bytes.reversed(), for: "a test")
        #expect(throws: SigningError.self) { try other.open(try key.seal([1, 2, 3], as: context), as: context) }
    }

    @Test func noSealIsMadeTwice() throws {
        let key = try sealingKey()
        #expect(try key.seal([1, 2, 3], as: context) != key.seal([1, 2, 3], as: context))
    }

    @Test func whatIsOfAnotherKeyPurposeOrContextIsRefused() throws {
        let sealed = try sealingKey().seal([1, 2, 3], as: context)
        let refused = [
            (try sealingKey(P256.Signing.PrivateKey()), context), (try sealingKey(for: "another test"), context),
            (try sealingKey(), context + [0]), (try sealingKey(), []),
        ]
        for (key, context) in refused {
            let error = #expect(throws: SigningError.self) { try key.open(sealed, as: context) }
            #expect(error?.code == .notSealed)
        }
        #expect(try sealingKey().open(sealed, as: context) == [1, 2, 3])
    }

    @Test func eachByteCounts() throws {
        let key = try sealingKey()
        let sealed = try key.seal([1, 2, 3], as: context)
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(throws: SigningError.self, "\(place)") { try key.open(changed, as: context) }
        }
        for count in sealed.indices {
            #expect(throws: SigningError.self, "\(count)") { try key.open(Array(sealed.prefix(count)), as: context) }
        }
    }
}
