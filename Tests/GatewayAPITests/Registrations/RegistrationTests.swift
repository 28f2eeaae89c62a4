import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct RegistrationTests {
    private static let path = "/v1/projects/demo/registrations"

    @Test func anAppRegistersAndIsShown() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let answer = try await gateway.request(
            .post, Self.path,
            #"{"ios":{"apns_token":"\#("00AA".deviceToken)","bundle_id":"com.example.app","apns_environment":"SANDBOX","app_version":"1.2"},"fcm_sdk_version":"fcm-12.1"}"#,
            of: install)
        #expect(answer.status == 200)
        let name = try #require(try answer.json["name"]?.stringValue)
        let token = try #require(try answer.json["token"]?.stringValue)
        #expect(name.wholeMatch(of: /projects\/demo\/registrations\/[cdef][\w-]{21}/) != nil)
        let shown = try await gateway.request(.get, "\(Self.path)/\(token.replacing(":", with: "%3A"))", of: install)
        #expect(
            shown.text
                == #"{"name":"\#(name)","token":"\#(token)","app":"com.example.app","apnsEnvironment":"SANDBOX","appVersion":"1.2","createTime":"\#(TestGateway.startText)","refreshTime":"\#(TestGateway.startText)","state":"ACTIVE"}"#
        )
    }

    @Test func camelCaseNamesAreTheSame() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path,
            #"{"ios":{"apnsToken":"\#("00".deviceToken)","bundleId":"com.example.app","apnsEnvironment":"PROD","appVersion":"1"},"fcmSdkVersion":"x"}"#
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func theSameInstallKeepsItsNameAndToken() async throws {
        let gateway = try await TestGateway()
        let first = try await gateway.register()
        let second = try await gateway.register()
        #expect(first == second)
    }

    @Test(arguments: [
        ("com.example.app", "PROD"), ("com.example.dev", "SANDBOX"),
    ])
    func theAppsEnvironmentIsTheDefault(app: String, environment: String) async throws {
        let gateway = try await TestGateway()
        let id = try await gateway.register(app: app).id
        let shown = try await gateway.request(.get, "\(Self.path)/\(id)")
        #expect(try shown.json["apnsEnvironment"] == .string(environment))
    }

    @Test(arguments: [
        (#"{}"#, "ios"),
        (#"{"ios":{"bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":{"apns_token":"xyz","bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":{"apns_token":"\#("00".deviceToken)"}}"#, "ios.bundle_id"),
        (#"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"com.unknown"}}"#, "ios.bundle_id"),
        (
            #"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"com.example.app","apns_environment":"TEST"}}"#,
            "ios.apns_environment"
        ),
        (#"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"com.example.app","device":"x"}}"#, "ios"),
        (#"{"ios":{"apns_token":12,"bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":[]}"#, "ios"),
        (#"{"android":{}}"#, "android.package_name"),
    ])
    func aWrongFieldIsNamed(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
        #expect(try answer.errorCode == nil)
    }

    @Test func aTokenThatIsTooLongIsToldTheLimit() async throws {
        let token = String(repeating: "0", count: 4098)
        let answer = try await TestGateway().request(
            .post, Self.path, #"{"ios":{"apns_token":"\#(token)","bundle_id":"com.example.app"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["ios.apns_token"])
        #expect(answer.text.contains("64 to 4096"))
    }

    @Test(arguments: ["", "00", String(repeating: "0", count: 62), String(repeating: "0", count: 65), "zz".deviceToken])
    func aDeviceTokenThatAPNsNeverGaveIsRefused(token: String) async throws {
        let gateway = try await TestGateway()
        let body = #"{"ios":{"apns_token":"\#(token)","bundle_id":"com.example.app"}}"#
        let answer = try await gateway.request(.post, Self.path, body, as: .client)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["ios.apns_token"])
        let imported = try await gateway.request(
            .post, "/iid/v1:batchImport", #"{"application":"com.example.app","apns_tokens":["\#(token)"]}"#)
        #expect(imported.text.contains(#""status":"INVALID_ARGUMENT""#), "\(imported.text)")
    }

    @Test func theStatesOfManyTokensAreToldAtOnce() async throws {
        let gateway = try await TestGateway()
        let (active, ended) = (try await gateway.register("01"), try await gateway.register("02"))
        _ = try await gateway.request(.delete, "\(Self.path)/\(ended.id)")
        let foreign = try await gateway.foreignRegistration()
        let wrong = "\(active.id):APA91bwrong"
        let tokens = [
            active.token, active.id, ended.token, "abcdefgh:APA91bxyz", "nonsense", foreign.token.rawValue,
            foreign.id.rawValue, wrong,
        ]
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await gateway.request(
            .post, "\(Self.path):check", #"{"tokens":[\#(list)]}"#, as: .sender)
        #expect(answer.status == 200, "\(answer.text)")
        let results = try #require(try answer.list("results"))
        #expect(
            results.map { $0["state"]?.stringValue } == [
                "ACTIVE", "ACTIVE", "ENDED", "UNREGISTERED", "INVALID_ARGUMENT", "SENDER_ID_MISMATCH", "UNREGISTERED",
                "UNREGISTERED",
            ])
        #expect(results[2]["endCause"] == .string("DELETED"))
        #expect(!answer.text.contains(active.token))
        #expect(try await gateway.request(.post, "\(Self.path):check", #"{"tokens":["x"]}"#, as: .client).status == 403)
    }

    @Test func tenThousandTokensAreCheckedAtMost() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 4 << 20)
        func check(_ count: Int) async throws -> Answer {
            let list = Array(repeating: "\"\(String(repeating: "x", count: 163))\"", count: count)
            return try await gateway.request(
                .post, "\(Self.path):check", #"{"tokens":[\#(list.joined(separator: ","))]}"#, as: .sender)
        }
        #expect(try await check(10_000).status == 200)
        #expect(try await check(10_001).badFields == ["tokens"])
        #expect(try await check(0).badFields == ["tokens"])
    }

    @Test func aChangeRotatesOnlyWhatIsGiven() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register("0a")
        gateway.clock.advance(by: .seconds(60))
        let answer = try await gateway.request(
            .patch, "\(Self.path)/\(token)", #"{"ios":{"apns_token":"\#("0b".deviceToken)"}}"#, as: .client)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json["createTime"] == .string("2026-01-02T03:04:05.678Z"))
        #expect(try answer.json["refreshTime"] == .string("2026-01-02T03:05:05.678Z"))
        #expect(try answer.json["token"] == .string(token))
        let demo = try #require(ProjectID(rawValue: "demo"))
        let stored = try await gateway.store.registration(#require(RegistrationID(rawValue: id)), in: demo)
        #expect(stored?.deviceToken.hex == "0b".deviceToken)
        #expect(stored?.environment == .production)
        let moved = try await gateway.request(
            .patch, "\(Self.path)/\(token)", #"{"ios":{"bundle_id":"com.example.dev"}}"#, as: .client)
        #expect(moved.status == 400)
        #expect(try moved.badFields == ["ios.bundle_id"])
    }

    @Test(arguments: [#"1.2\n3"#, #"\u001b[2J"#, #"1\u0085"#])
    func aVersionHasNoControlCharacters(version: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path,
            #"{"ios":{"apns_token":"\#("0a".deviceToken)","bundle_id":"com.example.app","app_version":"\#(version)"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["ios.app_version"])
    }

    @Test func anEndedRegistrationStaysVisibleAndEnded() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        for _ in 0..<2 {
            let answer = try await gateway.request(.delete, "\(Self.path)/\(token)", as: .client)
            #expect(answer.status == 200)
            #expect(answer.text == "{}")
        }
        let shown = try await gateway.request(.get, "\(Self.path)/\(id)")
        #expect(try shown.json["state"] == .string("ENDED"))
        #expect(try shown.json["endCause"] == .string("DELETED"))
        let changed = try await gateway.request(.patch, "\(Self.path)/\(id)", #"{"ios":{}}"#)
        #expect(changed.status == 404)
    }

    @Test(arguments: ["GET", "PATCH", "DELETE"])
    func aClientNeedsTheToken(method: String) async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        let method = try #require(HTTPRequest.Method(method))
        let body = method == .patch ? #"{"ios":{}}"# : nil
        let byID = try await gateway.request(method, "\(Self.path)/\(id)", body, as: .client)
        #expect(byID.status == 403)
        #expect(!byID.text.contains(token))
        let byToken = try await gateway.request(method, "\(Self.path)/\(token)", body, as: .client)
        #expect(byToken.status == 200, "\(byToken.text)")
        // Where installations are required the token alone is none of a client's proofs.
        let strict = try await TestGateway()
        let other = try await strict.register().token
        #expect(try await strict.request(method, "\(Self.path)/\(other)", body, as: .client).status == 403)
    }

    @Test func unknownIsNotFoundAndMalformedIsRefused() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, "\(Self.path)/abcdefgh:APA91bxyz").status == 404)
        #expect(try await gateway.request(.get, "\(Self.path)/A%3Ab%2Fc").status == 400)
    }

    @Test func aUserIsShownAndAnotherOneGetsAnotherRegistration() async throws {
        let gateway = try await TestGateway()
        func post(_ user: String, _ rest: String = "") async throws -> Answer {
            try await gateway.request(
                .post, Self.path,
                #"{"ios":{"apns_token":"\#("00aa".deviceToken)","bundle_id":"com.example.app"},"user":"\#(user)"\#(rest)}"#
            )
        }
        let first = try await post("alice").json
        let again = try await post("alice").json
        #expect(first == again)
        let name = try #require(first["name"]?.stringValue)
        let token = try #require(first["token"]?.stringValue)
        let shown = try await gateway.request(.get, "/v1/\(name)")
        #expect(try shown.json["user"] == .string("alice"))

        let second = try await post("bob").json
        #expect(second["name"] != first["name"] && second["token"] != first["token"])
        let ended = try await gateway.request(.get, "/v1/\(name)").json
        #expect(ended["state"] == .string("ENDED") && ended["endCause"] == .string("REPLACED"))
        // What is sent to the one before does not reach the device.
        let refused = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","notification":{"title":"x"}}}"#,
            as: .sender)
        #expect(refused.status == 404)
        #expect(try refused.errorCode == "UNREGISTERED")

        // Signed out: a registration without a user. By PATCH too the answer is the new one.
        let bobs = try #require(second["token"]?.stringValue).replacing(":", with: "%3A")
        let patched = try await gateway.request(
            .patch, "\(Self.path)/\(bobs)", #"{"ios":{},"user":""}"#)
        #expect(patched.status == 200, "\(patched.text)")
        #expect(try patched.json["user"] == nil && patched.json["token"] != second["token"])

        let audit = try await gateway.request(.get, "/v1/\(try #require(second["name"]?.stringValue))/audit")
        let entries = try audit.requireList("entries")
        #expect(entries.map { $0["cause"] } == [.string("USER_CHANGED"), .string("USER_CHANGED")])
        #expect(entries[0]["formerUser"] == .string("bob") && entries[0]["user"] == nil)
        #expect(entries[1]["formerRegistration"] == .string(name) && entries[1]["user"] == .string("bob"))
        #expect(try await gateway.request(.get, "/v1/\(name)/audit", as: .client).status == 403)
        #expect(try await gateway.request(.get, "\(Self.path)/cZZZZZZZZZZZZZZZZZZZZZ/audit").status == 404)
    }

    @Test func aUserOfAnotherFormIsRefused() async throws {
        let gateway = try await TestGateway()
        for user in [#""a\nb""#, #"" \u00a0\u2003""#, "\"\(String(repeating: "x", count: 257))\"", "7"] {
            let answer = try await gateway.request(
                .post, Self.path,
                #"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"com.example.app"},"user":\#(user)}"#)
            #expect(answer.status == 400)
            #expect(try answer.badFields == ["user"])
        }
    }

    @Test func registrationsAreListedByUserAndStateInPages() async throws {
        let gateway = try await TestGateway()
        for number in 0..<5 {
            let answer = try await gateway.request(
                .post, Self.path,
                #"{"ios":{"apns_token":"\#("0\(number)".deviceToken)","bundle_id":"com.example.app"},"user":"u \"\#(number % 2)"}"#
            )
            #expect(answer.status == 200)
        }
        func list(_ filter: String?, _ size: Int = 2) async throws -> [String] {
            var names: [String] = []
            var token: String?
            repeat {
                var query = "pageSize=\(size)"
                if let filter { query += "&filter=\(filter)" }
                if let token { query += "&pageToken=\(token)" }
                let answer = try await gateway.request(.get, "\(Self.path)?\(query)")
                #expect(answer.status == 200, "\(answer.text)")
                if case .array(let found)? = try answer.json["registrations"] {
                    #expect(found.count <= size)
                    names += found.compactMap { $0["name"]?.stringValue }
                }
                token = try answer.json["nextPageToken"]?.stringValue
            } while token != nil
            return names
        }
        #expect(try await list(nil).count == 5)
        #expect(try await list("state%3DACTIVE", 5).count == 5)
        #expect(try await list("user%3D%22u%20%5C%221%22").count == 2)
        #expect(try await list("state%3DQUARANTINED") == [])
        #expect(try await list("state%3DSTALE") == [])
        gateway.clock.advance(by: .seconds(271 * 86_400))
        #expect(try await list("state%3DSTALE").count == 5)
        let one = try #require(try await list(nil, 9).first)
        #expect(try await gateway.request(.get, "/v1/\(one)").json["stale"] == .bool(true))
        for wrong in ["state%3DX", "user%3D", "x", "color%3Dred"] {
            let answer = try await gateway.request(.get, "\(Self.path)?filter=\(wrong)")
            #expect(try answer.badFields == ["filter"])
        }
        #expect(try await gateway.request(.get, "\(Self.path)?pageToken=x").status == 400)
        #expect(try await gateway.request(.get, Self.path, as: .sender).status == 403)
    }
}
