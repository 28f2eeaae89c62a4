import Crypto
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Browsers register; nothing is sent to them yet.
@Suite(.timeLimit(.minutes(5)))
struct WebRegistrationTests {
    private static let path = "/v1/projects/demo/registrations"
    /// The base point of P-256.
    static let key = Base64URL.text(
        DeviceToken(
            hex: "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")!.bytes)
    private static let secret = Base64URL.text((0..<16).map { UInt8($0) })

    private static func body(
        _ endpoint: String = "https://push.example.com/send/secret-one", origin: String? = nil, key: String = key,
        secret: String = secret, more: String = ""
    ) -> String {
        let origin = origin.map { #""origin":"\#($0)","# } ?? ""
        return #"{"web":{\#(origin)"endpoint":"\#(endpoint)","p256dh":"\#(key)","auth":"\#(secret)"\#(more)}}"#
    }

    @Test func aBrowserRegistersOnceAndIsListed() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let install = try await gateway.install()
        let first = try await gateway.request(.post, Self.path, Self.body(), of: install)
        #expect(first.status == 200, "\(first.text)")
        let again = try await gateway.request(
            .post, Self.path, Self.body(more: #","applicationPubKey":"\#(Self.key)""#), of: install)
        #expect(again.text == first.text)
        let name = try #require(try first.json["name"]?.stringValue)
        let shown = try await gateway.request(.get, "/v1/\(name)")
        #expect(try shown.json["app"] == .string("www.example.com"))
        #expect(try shown.json["platform"] == .string("WEB"))
        #expect(try shown.json["pushService"] == .string("push.example.com"))
        #expect(try shown.json["apnsEnvironment"] == nil)
        let token = try #require(try first.json["token"]?.stringValue)
        let info = try await gateway.request(.get, "/iid/info/\(token)")
        #expect(
            info.text
                == #"{"application":"www.example.com","authorizedEntity":"123456789012","platform":"CHROME"}"#)
        #expect(!shown.text.contains("secret-one"))
        let list = try await gateway.request(.get, Self.path)
        #expect(list.text.contains(name) && !list.text.contains("secret-one"))
        let id = try #require(RegistrationID(rawValue: String(name.split(separator: "/").last ?? "")))
        let demo = try #require(ProjectID(rawValue: "demo"))
        let kept = try #require(try await gateway.store.registration(id, in: demo))
        let web = try #require(kept.address.webSubscription)
        #expect(web.endpoint == "https://push.example.com/send/secret-one")
        #expect(web.secret == (0..<16).map { UInt8($0) } && web.applicationKey == web.key)
        // And is exported as it is.
        let exported = try await gateway.store.exportRegistrations(
            of: demo, after: RegistrationKey(rawValue: 0), limit: 9)
        #expect(exported.rows.map(\.address) == [kept.address] && exported.last == kept.key)
    }

    /// `PushSubscription.toJSON()` as it is.
    @Test func aSubscriptionAsTheBrowserWritesItIsTaken() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let body =
            #"{"web":{"endpoint":"https://push.example.com/a","expirationTime":null,"#
            + #""keys":{"p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}}}"#
        let answer = try await gateway.request(.post, Self.path, body, of: gateway.install())
        #expect(answer.status == 200, "\(answer.text)")
        let wrong = try await gateway.request(
            .post, Self.path, body.replacing(Self.secret, with: "AAAA"), of: gateway.install())
        #expect(try wrong.badFields == ["web.keys.auth"])
    }

    @Test func anAppThatIsReachedTakesItsServicesAndKeysOnly() async throws {
        let point = try #require(Base64URL.bytes(Self.key))
        let other = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
        let service = BrowserService(
            publicKeys: [other, point], services: [try #require(PushServiceName("push.example.com"))])
        let app = App(web: try #require(AppID(rawValue: "www.example.com")), service: service)
        let gateway = try await TestGateway(otherApps: [app])
        let demo = try #require(ProjectID(rawValue: "demo"))
        func key(_ answer: Answer) async throws -> [UInt8]? {
            let name = try #require(try answer.json["name"]?.stringValue)
            let id = try #require(RegistrationID(rawValue: String(name.split(separator: "/").last ?? "")))
            return try await gateway.store.registration(id, in: demo)?.address.webSubscription?.applicationKey
        }
        let stated = #","applicationPubKey":"\#(Self.key)""#
        #expect(
            try await key(gateway.request(.post, Self.path, Self.body(more: stated), of: gateway.install())) == point)
        // One that does not say was made with the present key, and stays with it.
        let endpoint = "https://fcm.googleapis.com/fcm/send/x"
        let install = try await gateway.install()
        let made = try await gateway.request(.post, Self.path, Self.body(endpoint), of: install)
        #expect(try await key(made) == other)
        let token = try #require(try made.json["token"]?.stringValue).replacing(":", with: "%3A")
        for (body, field) in [
            (Self.body("https://push.example.org/x"), "web.endpoint"),
            (Self.body("https://127.0.0.1/x"), "web.endpoint"),
            (Self.body("https://push.example.com:8443/x"), "web.endpoint"),
            (
                Self.body(
                    more:
                        #","applicationPubKey":"\#(Base64URL.text(P256.KeyAgreement.PrivateKey().publicKey.x963Representation))""#
                ),
                "web.application_pub_key"
            ),
        ] {
            let refused = try await gateway.request(.post, Self.path, body, of: gateway.install())
            #expect(try refused.badFields == [field], "\(refused.text)")
            let unchanged = try await gateway.request(.patch, "\(Self.path)/\(token)", body, of: install)
            #expect(try unchanged.badFields == [field], "\(unchanged.text)")
        }
        let old = try await gateway.request(
            .post, "/v1/web/iid",
            #"{"endpoint":"https://10.0.0.1/a","keys":{"auth":"\#(Self.secret)","p256dh":"\#(Self.key)"}}"#)
        #expect(old.status == 400)
    }

    @Test func aBrowserChangesItsSubscriptionByItsToken() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let install = try await gateway.install()
        let made = try await gateway.request(.post, Self.path, Self.body(), of: install).json
        let token = try #require(made["token"]?.stringValue).replacing(":", with: "%3A")
        let changed = try await gateway.request(
            .patch, "\(Self.path)/\(token)", Self.body("https://push.example.com/two"), of: install)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try changed.json["name"] == made["name"])
        // The former endpoint is somebody else's now.
        let other = try await gateway.request(.post, Self.path, Self.body()).json
        #expect(other["name"] != made["name"])
        let wrong = try await gateway.request(
            .patch, "\(Self.path)/\(token)", #"{"ios":{"app_version":"1"}}"#, of: install)
        #expect(try wrong.badFields == ["ios"])
        #expect(try await gateway.request(.delete, "\(Self.path)/\(token)", of: install).status == 200)
    }

    /// What a body brings decides which of two apps with one id is meant.
    @Test func oneIDIsAnAppleAndAWebApp() async throws {
        let gateway = try await TestGateway(webApps: ["com.example.app"])
        let device = try await gateway.register()
        let browser = try await gateway.request(.post, Self.path, Self.body(), of: gateway.install()).json
        let name = try #require(browser["name"]?.stringValue)
        let (ios, web) = (
            try await gateway.request(.get, "\(Self.path)/\(device.id)").json,
            try await gateway.request(.get, "/v1/\(name)").json
        )
        #expect(ios["app"] == .string("com.example.app") && ios["apnsEnvironment"] == .string("PROD"))
        #expect(web["app"] == .string("com.example.app") && web["platform"] == .string("WEB"))
        _ = try await gateway.send(#""token":"\#(device.token)""#)
    }

    @Test func theAppIsThatOfTheOrigin() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com", "app.example.com"])
        func app(_ origin: String?, header: String? = nil) async throws -> Answer {
            var headers: HTTPFields = [:]
            if let header { headers[.origin] = header }
            let answer = try await gateway.request(
                .post, Self.path, Self.body(origin: origin), as: .admin, headers: headers)
            // An answer that is no JSON is for the caller to judge.
            guard let name = try? answer.json["name"]?.stringValue else { return answer }
            return try await gateway.request(.get, "/v1/\(name)")
        }
        for origin in ["www.example.com", "https://WWW.example.com:8443", "https://www.example.com/page"] {
            #expect(try await app(origin).json["app"] == .string("www.example.com"))
        }
        #expect(try await app(nil, header: "https://app.example.com").json["app"] == .string("app.example.com"))
        #expect(
            try await app("www.example.com", header: "https://app.example.com").json["app"]
                == .string("www.example.com"))
        for (origin, header) in [("evil.example.com", nil), (nil, nil), ("com.example.app", nil), (nil, "null")] {
            let refused = try await app(origin, header: header)
            #expect(refused.status == 400)
            #expect(try refused.badFields == ["web.origin"])
        }
        // And an Apple app is none of a browser's.
        let apple = try await gateway.request(
            .post, Self.path, #"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"www.example.com"}}"#)
        #expect(try apple.badFields == ["ios.bundle_id"])
    }

    @Test(arguments: [
        (body("http://push.example.com/a"), "web.endpoint"), (body("https://"), "web.endpoint"),
        (body("https://a b"), "web.endpoint"), (body("https://u:p@push.example.com/"), "web.endpoint"),
        (body("https://push.example.com/" + String(repeating: "x", count: 2048)), "web.endpoint"),
        (body(key: "AAAA"), "web.p256dh"),
        (body(key: Base64URL.text([4] + Array(repeating: 1, count: 64))), "web.p256dh"),
        (body(secret: "AAAA"), "web.auth"), (body(secret: "!"), "web.auth"),
        (body(more: #","applicationPubKey":"AAAA""#), "web.application_pub_key"),
        (#"{"web":{}}"#, "web.endpoint"), (#"{"web":{"auth":"AAAA"}}"#, "web.endpoint"),
        (#"{"web":{},"ios":{}}"#, "web"), (#"{}"#, "ios"),
    ])
    func aWrongSubscriptionNamesItsField(body: String, field: String) async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let answer = try await gateway.request(.post, Self.path, body, as: .client)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(try answer.badFields == [field])
    }

    @Test func theOldImportGivesAToken() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let padded = Self.key.replacing("-", with: "+").replacing("_", with: "/") + "="
        let body =
            #"{"endpoint":"https://push.example.com/a","keys":{"auth":"\#(Self.secret)","p256dh":"\#(padded)"}}"#
        let answer = try await gateway.request(.post, "/v1/web/iid", body)
        #expect(answer.status == 200, "\(answer.text)")
        let token = try #require(try answer.json["token"]?.stringValue)
        _ = try await gateway.send(#""token":"\#(token)""#)
        let wrong = try await gateway.request(.post, "/v1/web/iid", #"{"endpoint":"x"}"#)
        #expect(wrong.status == 400)
        #expect(try wrong.json["error"]?.stringValue?.contains("keys") == true)
    }

    @Test func pagesOfAnyOriginMayCallWhatAppsCall() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let page: HTTPFields = [
            .origin: "https://www.example.com", HTTPField.Name("Access-Control-Request-Method")!: "PATCH",
            HTTPField.Name("Access-Control-Request-Headers")!: "content-type,x-goog-api-key",
        ]
        let allowed = HTTPField.Name("Access-Control-Allow-Origin")!
        for (path, methods) in [
            (Self.path, "POST, GET"), (Self.path + "/cInstallationOne000000", "GET, PATCH, DELETE"),
            ("/v1/projects/demo/installations", "POST"), ("/v1/projects/demo/receipts", "POST"),
        ] {
            let answer = try await gateway.request(.options, path, as: nil, headers: page)
            #expect(answer.status == 204 && answer.headers[allowed] == "*")
            #expect(answer.headers[HTTPField.Name("Access-Control-Allow-Methods")!] == methods)
            #expect(
                answer.headers[HTTPField.Name("Access-Control-Allow-Headers")!] == "content-type,x-goog-api-key")
        }
        // Answers too, also those that refuse.
        var installed = page
        installed[.installationAuth] = try await gateway.install().authToken
        let made = try await gateway.request(.post, Self.path, Self.body(), as: .client, headers: installed)
        #expect(made.status == 200 && made.headers[allowed] == "*")
        let refused = try await gateway.request(.post, Self.path, "{}", as: .client, headers: page)
        #expect(refused.status == 400 && refused.headers[allowed] == "*")
        // What backends call is none of a page's, and without an origin nothing is said.
        let send = "/v1/projects/demo/messages:send"
        #expect(try await gateway.request(.options, send, as: nil, headers: page).status == 405)
        #expect(try await gateway.request(.post, send, "{}", headers: page).headers[allowed] == nil)
        #expect(try await gateway.request(.get, Self.path).headers[allowed] == nil)
        #expect(try await gateway.request(.options, Self.path, as: nil).status == 405)
    }

    @Test func anInstallationOfABrowserHasItsFID() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let install = try await gateway.install()
        let answer = try await gateway.request(.post, Self.path, Self.body(), of: install, prefix: "FIS ")
        #expect(try answer.json["name"] == .string("projects/demo/registrations/\(install.id)"))
        let other = try await gateway.register(install)
        #expect(try other.badFields == ["ios.bundle_id"])
    }
}
