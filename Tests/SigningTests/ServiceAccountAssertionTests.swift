import Crypto
import CryptoExtras
import Foundation
import JSON
import Testing

@testable import Signing

/// Assertions signed by OpenSSL are checked by swift-crypto: another implementation than the one that signed.
struct ServiceAccountAssertionTests {
    @Test func `The assertion is the JWT that Google asks for`() throws {
        let reference = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let key = try RS256PrivateKey(pem: reference.pkcs8PEMRepresentation)
        let assertion = try ServiceAccountAssertion.signed(
            keyID: "0123abcd", issuer: "push@demo.iam.gserviceaccount.com",
            audience: "https://oauth2.googleapis.com/token",
            scope: "https://www.googleapis.com/auth/firebase.messaging", issuedAt: 1_700_000_000, with: key)
        let parts = assertion.split(separator: ".").map(String.init)
        #expect(try text(parts[0]) == #"{"alg":"RS256","typ":"JWT","kid":"0123abcd"}"#)
        #expect(
            try text(parts[1])
                == #"{"iss":"push@demo.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.googleapis.com/token","iat":1700000000,"exp":1700003600}"#)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Base64URL.bytes(parts[2])))
        #expect(
            reference.publicKey.isValidSignature(
                signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    @Test func `A key of another kind is refused`() throws {
        #expect { try RS256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation) } throws: {
            ($0 as? SigningError)?.code == .notRSA
        }
        #expect { try RS256PrivateKey(pem: "no key") } throws: {
            ($0 as? SigningError)?.code == .notAPrivateKey
        }
    }

    private func text(_ part: String) throws -> String {
        String(decoding: try #require(Base64URL.bytes(part)), as: UTF8.self)
    }
}
