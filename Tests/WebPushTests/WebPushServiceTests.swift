import Crypto
import FCMWire
import Foundation
import JSON
import PushModel
import Signing
import TestSupport
import Testing

@testable import HTTP2Client
@testable import Upstream
@testable import WebPush

/// The requests for a push service of browsers.
struct WebPushServiceTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private let browser = P256.KeyAgreement.PrivateKey()

    private func push(_ json: String, endpoint: String, lifetime: Duration = .seconds(3600)) throws -> Push {
        let app = App(web: AppID(rawValue: "www.example.com")!)
        let project = ProjectID(rawValue: "demo")!
        let content = try BrowserPush(
            FCMMessage(source: JSONValue(parsing: Array(json.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil, app: app,
                expiresAt: Self.now + lifetime))
        let subscription = try #require(
            WebSubscription(
                endpoint: endpoint, key: Array(browser.publicKey.x963Representation),
                secret: [UInt8](repeating: 7, count: 16), applicationKey: nil))
        return Push(
            route: PushRoute(project: project, app: app.id, channel: .webPush), lane: .interactive,
            address: .web(subscription), content: content, payload: content.payload,
            id: PushID(message: MessageID(rawValue: "m-1")!, registration: RegistrationKey(rawValue: 1)))
    }

    private func request(_ push: Push, host: String) throws -> Request {
        let service = WebPushService(host: host, wallTime: { Self.now }, uptime: { .zero })
        return try #require(service.requests(for: [0], of: [push]).requests.first)
    }

    private func fields(_ request: Request) -> [String: String] {
        Dictionary(
            (request.head.fields + request.fields).map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + "," + $1 })
    }

    @Test func theRequestIsThatOfTheRFCs() throws {
        let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/abc?x=1#y"
        let request = try request(
            push(
                #"{"notification":{"title":"Hello"},"webpush":{"headers":{"Urgency":"low","Topic":"t"}}}"#,
                endpoint: endpoint), host: "updates.push.services.mozilla.com")
        #expect(request.path == "/wpush/v2/abc?x=1")
        let fields = fields(request)
        #expect(fields["ttl"] == "3600" && fields["urgency"] == "low")
        #expect(fields["content-encoding"] == "aes128gcm")
        #expect(fields["content-type"] == "application/notification+json")
        #expect(fields["topic"]?.utf8.count == 32)
        #expect(fields["authorization"] == nil)
    }

    @Test func theBodyIsEncryptedForTheBrowser() throws {
        let push = try push(#"{"data":{"a":"1"}}"#, endpoint: "https://push.example.com/x")
        let request = try request(push, host: "push.example.com")
        #expect(request.body.count == push.payload.count + WebPushEncryptor.overhead)
        #expect(fields(request)["content-type"] == "application/octet-stream")
    }

    @Test(arguments: [(3600, "3600"), (30, "60"), (-5, "60")])
    func windowsServiceGetsAtLeastAMinute(seconds: Int, text: String) throws {
        let push = try push(
            #"{"data":{"a":"1"}}"#, endpoint: "https://wns2-par02p.notify.windows.com/w/?token=a%2fb",
            lifetime: .seconds(seconds))
        let request = try request(push, host: "wns2-par02p.notify.windows.com")
        #expect(request.path == "/w/?token=a%2fb")
        #expect(fields(request)["ttl"] == text && fields(request)["x-wns-cache-policy"] == "cache")
    }

    @Test func aMessageWhoseTimeIsOverIsForNowOrNever() throws {
        let push = try push(
            #"{"data":{"a":"1"}}"#, endpoint: "https://push.example.com/x", lifetime: .seconds(-5))
        #expect(try fields(request(push, host: "push.example.com"))["ttl"] == "0")
    }

    @Test func safariGetsNothingThatShowsNothing() throws {
        let endpoint = "https://web.push.apple.com/QAB"
        let batch = [
            try push(#"{"data":{"a":"1"}}"#, endpoint: endpoint),
            try push(#"{"notification":{"title":"Hello"}}"#, endpoint: endpoint),
        ]
        let service = WebPushService(host: "web.push.apple.com", wallTime: { Self.now }, uptime: { .zero })
        #expect(service.refusedPushes(among: [0, 1], of: batch).keys.sorted() == [0])
        let other = WebPushService(host: "push.example.com", wallTime: { Self.now }, uptime: { .zero })
        #expect(other.refusedPushes(among: [0, 1], of: batch).isEmpty)
    }
}

struct VAPIDTokenSourceTests {
    private let reference = P256.Signing.PrivateKey()

    @Test func oneTokenServesSixHours() throws {
        let clock = TestClock()
        let start = Timestamp(milliseconds: 1_700_000_000_000)
        let source = VAPIDTokenSource(
            key: try ES256PrivateKey(pem: reference.pemRepresentation), subject: "mailto:push@example.com",
            origin: "https://push.example.com", wallTime: clock.wallTime(startingAt: start))
        let first = try source.current()
        clock.advance(by: .seconds(6 * 3600 - 1))
        #expect(try source.current().authorization == first.authorization)
        clock.advance(by: .seconds(1))
        let second = try source.current()
        #expect(second.authorization != first.authorization && second.number > first.number)
        let claims = try #require(
            second.authorization.split(separator: ".").dropFirst().first.flatMap { Base64URL.bytes($0) })
        let value = try JSONValue(parsing: claims)
        #expect(value["aud"]?.stringValue == "https://push.example.com")
        #expect(value["exp"] == .number(String(1_700_000_000 + 18 * 3600)))
    }
}
