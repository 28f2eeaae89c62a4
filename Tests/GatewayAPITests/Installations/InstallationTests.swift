import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

extension TestGateway {
    /// An app install as an SDK has it.
    struct Install: Sendable {
        let id: String
        let refreshToken: String
        let authToken: String
    }

    /// Makes an installation.
    func install(_ fid: String = "cInstallationOne000000") async throws -> Install {
        let answer = try await request(
            .post, "/v1/projects/demo/installations",
            #"{"fid":"\#(fid)","authVersion":"FIS_v2","appId":"1:123:ios:abc","sdkVersion":"i:12.0.0"}"#, as: .client)
        #expect(answer.status == 200, "\(answer.text)")
        let json = try answer.json
        #expect(json["authToken"]?["expiresIn"] == .string("604800s"))
        return Install(
            id: try #require(json["fid"]?.stringValue), refreshToken: try #require(json["refreshToken"]?.stringValue),
            authToken: try #require(json["authToken"]?["token"]?.stringValue))
    }

    /// Sends a request with the auth token of an installation, as the iOS SDK does: the key has a header of its own.
    func request(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, of install: Install, prefix: String = ""
    ) async throws -> Answer {
        try await request(
            method, path, body, as: nil,
            headers: [
                .googleAPIKey: try #require(keys[.client]).text, .installationAuth: prefix + install.authToken,
            ])
    }

    /// Registers an installation with a device token.
    func register(_ install: Install, _ deviceToken: String = "00aa11", more: String = "") async throws -> Answer {
        try await request(
            .post, "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#(deviceToken.deviceToken)","bundle_id":"com.example.app"}\#(more)}"#, of: install)
    }
}

/// Firebase Installations, and registrations by their FIDs.
@Suite(.timeLimit(.minutes(5)))
struct InstallationTests {
    private static let registrations = "/v1/projects/demo/registrations"
    private static let installations = "/v1/projects/demo/installations"

    private func fis(_ token: String, _ gateway: TestGateway) throws -> HTTPFields {
        [.googleAPIKey: try #require(gateway.keys[.client]).text, .authorization: "FIS_v2 \(token)"]
    }

    @Test func anInstallationGetsTokensAndMoreOfThem() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        #expect(install.id == "cInstallationOne000000")
        let path = "\(Self.installations)/\(install.id)/authTokens:generate"
        let answer = try await gateway.request(
            .post, path, #"{"installation":{"sdkVersion":"i:12.0.0","appId":"1:123:ios:abc"}}"#, as: nil,
            headers: fis(install.refreshToken, gateway))
        #expect(answer.status == 200, "\(answer.text)")
        let token = try #require(try answer.json["token"]?.stringValue)
        #expect(token != install.authToken)
        #expect(try answer.json["expiresIn"] == .string("604800s"))
        let wrong = try await gateway.request(.post, path, as: nil, headers: fis("wrong", gateway))
        #expect(wrong.status == 401 && !wrong.text.contains("wrong"))
        let missing = try await gateway.request(.post, path, as: .client)
        #expect(missing.status == 401)
        let unknown = try await gateway.request(
            .post, "\(Self.installations)/cNobody000000000000000/authTokens:generate", as: nil,
            headers: fis(install.refreshToken, gateway))
        #expect(unknown.status == 404)
    }

    @Test func aForeignFIDIsNotTakenOver() async throws {
        let gateway = try await TestGateway()
        let registered = try await gateway.register()
        let install = try await gateway.install()
        // One that is taken, and one as a broadcast channel's registration has it.
        for taken in [registered.id, install.id, "channel-AAAAAAAAAAAAAA"] {
            let made = try await gateway.install(taken)
            #expect(made.id != taken && made.id.count == 22)
        }
    }

    @Test(arguments: [
        (#"{"fid":"short","appId":"a"}"#, "fid"), (#"{"appId":""}"#, "app_id"), (#"{}"#, "app_id"),
        (#"{"appId":"a","authVersion":"FIS_v1"}"#, "auth_version"), (#"{"appId":1}"#, "app_id"),
    ])
    func aWrongInstallationNamesItsField(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.installations, body, as: .client)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field])
        #expect(try await gateway.request(.post, Self.installations, body, as: .sender).status == 403)
    }

    @Test func theRegistrationHasTheFIDAndCanBeReachedByIt() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let answer = try await gateway.register(install)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json["name"] == .string("projects/demo/registrations/\(install.id)"))
        let path = "\(Self.registrations)/\(install.id)"
        let name = try await gateway.send(#""fid":"\#(install.id)""#)
        #expect(name.hasPrefix("projects/demo/messages/"))
        #expect(try await gateway.request(.get, path, of: install, prefix: "FIS ").status == 200)
        let patched = try await gateway.request(
            .patch, path, #"{"ios":{"apns_token":"\#("00bb22".deviceToken)","app_version":"2"}}"#, of: install)
        #expect(try patched.json["appVersion"] == .string("2"))
        #expect(try patched.json["token"] == answer.json["token"])
        let topic = path + "/topicSubscriptions/news"
        let subscribed = try await gateway.request(.post, topic + ":subscribe", of: install)
        #expect(subscribed.status == 200)
        #expect(
            try subscribed.json["name"] == .string("projects/demo/registrations/\(install.id)/topicSubscriptions/news"))
        #expect(try await gateway.request(.post, topic + ":unsubscribe", of: install).status == 200)
        #expect(try await gateway.request(.delete, path, of: install).status == 200)
        let ended = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"fid":"\#(install.id)","notification":{"title":"x"}}}"#, as: .sender)
        #expect(ended.status == 404)
        // The app registers again: the FID is good again.
        #expect(try await gateway.register(install, "00cc33").status == 200)
        _ = try await gateway.send(#""fid":"\#(install.id)""#)
    }

    @Test func anotherInstallsRegistrationIsRefused() async throws {
        let gateway = try await TestGateway()
        let mine = try await gateway.install()
        let theirs = try await gateway.install("dInstallationTwo000000")
        let classic = try await gateway.register("00dd44")
        _ = try await gateway.register(mine, "00aa11")
        let token = try #require(try await gateway.register(theirs, "00bb22").json["token"]?.stringValue)
        for id in [theirs.id, classic.id] {
            let path = "\(Self.registrations)/\(id)"
            for (method, path) in [
                (HTTPRequest.Method.get, path), (.delete, path), (.post, path + "/topicSubscriptions/news:subscribe"),
            ] {
                #expect(try await gateway.request(method, path, of: mine).status == 403)
                #expect(try await gateway.request(method, path, as: .client).status == 403)
            }
            #expect(try await gateway.request(.patch, path, #"{"ios":{}}"#, of: mine).status == 403)
        }
        // The token is no proof: it leaks.
        let byToken = "\(Self.registrations)/\(token.replacing(":", with: "%3A"))"
        #expect(try await gateway.request(.get, byToken, as: .client).status == 403)
        #expect(try await gateway.request(.get, byToken, of: theirs).status == 200)
        let forged = TestGateway.Install(id: mine.id, refreshToken: "", authToken: "forged")
        #expect(try await gateway.request(.get, "\(Self.registrations)/\(mine.id)", of: forged).status == 401)
        #expect(try await gateway.register(forged).status == 401)
    }

    @Test func anAuthTokenExpiresAndEndsWithItsInstallation() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        _ = try await gateway.register(install)
        let path = "\(Self.registrations)/\(install.id)"
        gateway.clock.advance(by: .seconds(604_799))
        #expect(try await gateway.request(.get, path, of: install).status == 200)
        gateway.clock.advance(by: .seconds(1))
        #expect(try await gateway.request(.get, path, of: install).status == 401)
        let removal = "\(Self.installations)/\(install.id)"
        #expect(try await gateway.request(.delete, removal, as: nil, headers: fis("wrong", gateway)).status == 401)
        let removed = try await gateway.request(
            .delete, removal, as: nil, headers: fis(install.refreshToken, gateway))
        #expect(removed.status == 200)
        #expect(try await gateway.request(.get, path).json["endCause"] == .string("DELETED"))
        let again = try await gateway.request(
            .delete, removal, as: nil, headers: fis(install.refreshToken, gateway))
        #expect(again.status == 404)
    }

    @Test func anotherUserOfTheDeviceGetsAnotherFIDWithTheSameInstallation() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let first = try await gateway.register(install, user: "alice")
        #expect(try first.json["name"] == .string("projects/demo/registrations/\(install.id)"))
        let second = try await gateway.register(install, user: "bob")
        let name = try #require(try second.json["name"]?.stringValue)
        #expect(!name.hasSuffix(install.id))
        // By the FID of either.
        for path in ["/v1/\(name)", "\(Self.registrations)/\(install.id)"] {
            #expect(try await gateway.request(.get, path, of: install).json["user"] == .string("bob"))
        }
        let other = try await gateway.request(
            .post, Self.registrations, #"{"ios":{"apns_token":"\#("01".deviceToken)","bundle_id":"com.example.dev"}}"#,
            of: install)
        #expect(other.status == 400)
        #expect(try other.badFields == ["ios.bundle_id"])
    }

    @Test func aFailingStoreIsUnavailable() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await gateway.request(.post, Self.installations, #"{"appId":"a"}"#, as: .client)
        #expect(answer.status == 503)
    }
}
