import CryptoExtras
import Foundation
import PushModel
import Store
import Testing

@testable import GatewayAPI

/// The file that Admin SDKs take.
struct ServiceAccountFileTests {
    @Test func hasGooglesShape() throws {
        let file = try ServiceAccountFixture.shared.get().file
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [String: String])
        #expect(json["type"] == "service_account")
        #expect(json["project_id"] == "demo")
        #expect(json["client_email"] == "backend@demo.iam.herald")
        #expect(json["private_key_id"]?.wholeMatch(of: /[0-9a-f]{40}/) != nil)
        #expect(json["client_id"]?.wholeMatch(of: /[0-9]{21}/) != nil)
        #expect(json["token_uri"] == "http://127.0.0.1:1/token")
        #expect(json["universe_domain"] == "googleapis.com")
        #expect(json["private_key"]?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
        #expect(json["private_key"]?.hasSuffix("-----END PRIVATE KEY-----\n") == true)
        let key = try _RSA.Signing.PublicKey(derRepresentation: file.record(at: TestGateway.startTime).publicKey)
        #expect(key.keySizeInBits == 2048)
    }

    @Test func isReadAgain() throws {
        let file = try ServiceAccountFixture.shared.get().file
        let again = try #require(ServiceAccountFile(text: file.text))
        #expect(again.text == file.text)
        #expect(again.record(at: TestGateway.startTime) == file.record(at: TestGateway.startTime))
        for text in ["", "{}", file.text.replacing("PRIVATE", with: "PUBLIC"), file.text.replacing("@", with: "#")] {
            #expect(ServiceAccountFile(text: text) == nil)
        }
    }

    @Test func descriptionsHoldNoSecret() throws {
        let file = try ServiceAccountFixture.shared.get().file
        #expect("\(file)" == "service account key \(file.keyID) of backend@demo.iam.herald")
        let token = AccessToken(for: file.keyID, at: TestGateway.startTime)
        #expect(!"\(token)".contains(token.text))
    }
}

struct FormReaderTests {
    @Test func readsAForm() throws {
        let form = try #require(FormReader(Array("grant_type=urn%3Aa+b&x=%C3%BC&empty=&alone&a=b=c".utf8)))
        #expect(form["grant_type"] == "urn:a b")
        #expect(form["x"] == "ü")
        #expect(form["a"] == "b=c")
        for name in ["empty", "alone", "none"] { #expect(form[name] == nil) }
    }

    @Test(arguments: ["a=1&a=2", "a=%", "a=%zz", "%ff=1", "a=%ff", "a&a"])
    func refusesBrokenForms(text: String) {
        #expect(FormReader(Array(text.utf8)) == nil)
    }
}
