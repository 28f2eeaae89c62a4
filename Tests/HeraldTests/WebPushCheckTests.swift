import JSON
import PushModel
import Signing
import Testing
import WebPush

@testable import herald

/// What the doctor says of the keys of a web app.
struct WebPushCheckTests {
    @Test func eachKeyIsShownWithItsRegistrations() throws {
        let keys = try (0..<2).map { _ in try ES256PrivateKey(pem: ES256PrivateKey.generatedPEM()) }
        let app = WebPushAppConfiguration(
            project: try #require(ProjectID(rawValue: "demo")), app: try #require(AppID(rawValue: "www.example.com")),
            subject: "mailto:push@example.com", keys: keys)
        let texts = keys.map { Base64URL.text($0.publicPoint) }
        #expect(
            WebPushCheck.keys(of: app, nil).map(\.text) == [
                "pages subscribe with \(texts[0])", "subscriptions with \(texts[1]) go on",
            ])
        let gone = [UInt8](repeating: 4, count: 65)
        let findings = WebPushCheck.keys(of: app, [keys[0].publicPoint: 12, gone: 3, []: 5])
        #expect(
            findings.map(\.text) == [
                "pages subscribe with \(texts[0]): 12 registrations",
                "subscriptions with \(texts[1]) go on: 0 registrations",
                "5 registrations do not say their key: the first is used",
                "3 registrations have the key \(Base64URL.text(gone)), which is not among the app's: they get no pushes",
            ])
        #expect(findings.map(\.grade) == [.good, .good, .good, .warning])
    }
}
