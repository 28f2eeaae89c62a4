import Crypto
import Foundation
import JSON
import Testing

@testable import Signing

struct ProviderJWTTests {
    private let reference = P256.Signing.PrivateKey()

    @Test func `The token is the compact JWS that Apple describes`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let token = try ProviderJWT.signed(
            keyID: "ABC1234567", teamID: "TEAM123456", issuedAt: 1_700_000_000, with: key)
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        #expect(parts.count == 3)
        #expect(!token.contains("="))
        #expect(try text(parts[0]) == #"{"alg":"ES256","kid":"ABC1234567"}"#)
        #expect(try text(parts[1]) == #"{"iss":"TEAM123456","iat":1700000000}"#)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded(parts[2]))
        #expect(reference.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `Ids with characters that JSON escapes give a valid token`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let token = try ProviderJWT.signed(keyID: "a\"b\\c\n\u{1}é", teamID: "T", issuedAt: 0, with: key)
        let header = try JSONDecoder().decode(
            [String: String].self, from: decoded(String(token.prefix { $0 != "." })))
        #expect(header == ["alg": "ES256", "kid": "a\"b\\c\n\u{1}é"])
    }

    @Test func `Base64url agrees with Foundation for every length`() throws {
        for length in 0..<70 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255) }
            #expect(try decoded(Base64URL.text(bytes)) == Data(bytes))
        }
        #expect(Base64URL.text([0xfb, 0xff]) == "-_8")
    }

    private func decoded(_ text: String) throws -> Data {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return try #require(Data(base64Encoded: padded))
    }

    private func text(_ part: String) throws -> String {
        String(decoding: try decoded(part), as: UTF8.self)
    }
}
