import Delivery
import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

/// How a project's deliveries go now.
@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
    private static let path = "/v1/projects/demo/status"

    private static func route(_ project: String) throws -> PushRoute {
        PushRoute(
            project: try #require(ProjectID(rawValue: project)), app: try #require(AppID(rawValue: "com.example.app")),
            channel: .apns(.production))
    }

    private static func pause(_ part: UpstreamPause.Part) -> UpstreamPause {
        UpstreamPause(
            part: part, reason: "BadDeviceToken", since: TestGateway.startTime, nextProbe: TestGateway.startTime)
    }

    /// A value as text, the members of objects by name.
    private static func sorted(_ value: JSONValue) -> String {
        switch value {
        case .object(let members):
            let texts = members.sorted { $0.name < $1.name }.map { "\"\($0.name)\":\(sorted($0.value))" }
            return "{\(texts.joined(separator: ","))}"
        case .array(let elements): return "[\(elements.map(sorted).joined(separator: ","))]"
        default: return String(decoding: value.bytes, as: UTF8.self)
        }
    }

    @Test func theBacklogIsByLaneAndApp() async throws {
        let gateway = try await TestGateway()
        let (_, one) = try await gateway.register("00aa11")
        let (_, two) = try await gateway.register("00bb22", app: "com.example.dev")
        _ = try await gateway.send(#""token":"\#(one)""#)
        _ = try await gateway.send(#""token":"\#(one)""#)
        _ = try await gateway.claim(.interactive)
        for token in [one, two] { _ = try await gateway.send(#""token":"\#(token)""#) }
        _ = try await gateway.subscribe(3)
        _ = try await gateway.send(#""topic":"news""#)
        let held = try await gateway.send(#""token":"\#(one)""#)
        #expect(try await gateway.request(.post, "/v1/\(held):pause", "{}").status == 200)
        let broadcast = try await gateway.send(#""topic":"news""#)
        #expect(try await gateway.request(.post, "/v1/\(broadcast):pause", "{}").status == 200)

        let answer = try await gateway.request(.get, Self.path)
        #expect(
            try answer.list("backlog")?.map(Self.sorted) == [
                #"{"app":"com.example.app","inFlight":2,"lane":"interactive","paused":1,"waiting":1}"#,
                #"{"app":"com.example.dev","inFlight":0,"lane":"interactive","paused":0,"waiting":1}"#,
                #"{"inFlight":0,"lane":"bulk","paused":3,"waiting":3}"#,
            ])
        _ = try await gateway.claim(.bulk)
        let claimed = try await gateway.request(.get, Self.path).list("backlog")?.last
        #expect(claimed?["waiting"] == .number("0") && claimed?["inFlight"] == .number("3"))
        #expect(claimed?["paused"] == .number("3"))
    }

    @Test func theBacklogOfOneIDIsByPlatform() async throws {
        let gateway = try await TestGateway(androidApps: ["com.example.app"])
        let apple = try await gateway.register("00aa11").token
        let made = try await gateway.request(
            .post, "/v1/projects/demo/registrations",
            #"{"android":{"fcm_token":"device-0001:APA91bExample","package_name":"com.example.app"}}"#)
        let android = try #require(try made.json["token"]?.stringValue, "\(made.text)")
        for token in [apple, android, android] { _ = try await gateway.send(#""token":"\#(token)""#) }
        let answer = try await gateway.request(.get, Self.path)
        #expect(
            try answer.list("backlog")?.map(Self.sorted) == [
                #"{"app":"com.example.app","inFlight":0,"lane":"interactive","paused":0,"platform":"ANDROID","waiting":2}"#,
                #"{"app":"com.example.app","inFlight":0,"lane":"interactive","paused":0,"waiting":1}"#,
            ])
    }

    @Test func anotherProjectsBacklogIsNotShown() async throws {
        let gateway = try await TestGateway()
        let (_, token) = try await gateway.register()
        _ = try await gateway.send(#""token":"\#(token)""#)
        let answer = try await gateway.request(
            .get, "/v1/projects/other/status", as: nil,
            headers: [.authorization: "Bearer \(gateway.foreignKey.text)"])
        #expect(answer.status == 200)
        #expect(try answer.list("backlog") == [])
    }

    @Test func onlyTheProjectsUpstreamsAndPausesAreShown() async throws {
        let gateway = try await TestGateway()
        let route = try Self.route("demo")
        let foreign = try Self.route("other")
        let pauses: [UpstreamPause.Part] = [
            .everything, .topic("com.example.app.voip"), .topic("com.example.apple"), .route(route), .suspects(foreign),
        ]
        var services = gateway.services
        services.state.upstreams = {
            var shared = TestGateway.upstream
            shared.projects = [route.project, foreign.project]
            shared.pauses = pauses.map(Self.pause)
            var foreignOne = TestGateway.upstream
            foreignOne.name = "api.push.apple.com:443 TEAM999999/ABC9999999"
            foreignOne.projects = [foreign.project]
            foreignOne.pauses = [Self.pause(.everything)]
            return [shared, foreignOne]
        }
        let answer = try await gateway.request(.get, Self.path, over: services)
        #expect(!answer.text.contains("TEAM999999"))
        #expect(
            try answer.list("pauses")?.map { $0["part"]?.stringValue } == ["everything", "topic", "app"])
        let upstream = try #require(try answer.list("upstreams")?.first)
        #expect(try answer.list("upstreams")?.count == 1)
        #expect(upstream["circuit"] == .string("open") && upstream["paused"] == nil)
    }

    @Test func aCredentialIsShownWithWhatItsUpstreamsSaw() async throws {
        let gateway = try await TestGateway(androidApps: ["com.example.app"])
        let (route, foreign) = (try Self.route("demo"), try Self.route("other"))
        let start = TestGateway.startTime
        func upstream(_ name: String, _ routes: Set<PushRoute>, worked: Int64?, failed: Int64?) -> UpstreamStatus {
            var status = TestGateway.upstream
            status.name = name
            status.routes = routes
            status.projects = Set(routes.map(\.project))
            status.lastWorked = worked.map { start + .seconds($0) }
            status.lastTrouble = failed.map { UpstreamTrouble(reason: "Reason\($0)", time: start + .seconds($0)) }
            return status
        }
        var services = gateway.services
        let upstreams = [
            upstream("api.push.apple.com:443 TEAM/KEY", [route], worked: 5, failed: 7),
            upstream("api.push.apple.com:443 TEAM/KEY broadcasts via proxy", [route], worked: 6, failed: nil),
            // Of another key, and of another project.
            upstream("api.push.apple.com:443 TEAM/KEYS", [route], worked: 50, failed: 50),
            upstream("example.com:443 TEAM/KEY", [foreign], worked: 60, failed: 60),
        ]
        services.state.upstreams = { upstreams }
        services.state.credentials = { _ in
            [
                CredentialStatus(
                    app: AppKey(.apple, route.app), kind: .apnsKey, name: "TEAM/KEY", file: "keys/a.p8",
                    modified: start, upstreamWord: "TEAM/KEY"),
                CredentialStatus(
                    app: AppKey(.android, route.app), kind: .serviceAccount, name: "a@b", file: "keys/b.json",
                    modified: nil, upstreamWord: "TEAM/KEY"),
            ]
        }
        let answer = try await gateway.request(.get, Self.path, over: services)
        let credentials = try #require(try answer.list("credentials"))
        let text = { (seconds: Int64) in JSONValue.string((start + .seconds(seconds)).rfc3339) }
        #expect(credentials[0]["fileTime"] == text(0) && credentials[0]["lastUsed"] == text(6))
        #expect(credentials[0]["lastError"] == .string("Reason7") && credentials[0]["lastErrorTime"] == text(7))
        #expect(credentials[0]["validUntil"] == nil && credentials[0]["platform"] == nil)
        #expect(
            Self.sorted(credentials[1])
                == #"{"app":"com.example.app","file":"keys/b.json","kind":"SERVICE_ACCOUNT","name":"a@b","platform":"ANDROID"}"#
        )
    }

    @Test func reasonsStoreAndCertificatesAreShown() async throws {
        let gateway = try await TestGateway(storeState: StoreState(isWritable: false, problems: ["The disk is full."]))
        let demo = try #require(ProjectID(rawValue: "demo"))
        var services = gateway.services
        services.state.recentReasons = { project in
            project == demo ? [ReasonCount(outcome: .rejected, reason: "BadDeviceToken", count: 3)] : []
        }
        services.state.certificates = { _ in
            [CertificateStatus(subject: "listener", file: "/etc/herald/tls.pem", validUntil: TestGateway.startTime)]
        }
        let answer = try await gateway.request(.get, Self.path, over: services)
        #expect(answer.status == 200)
        let json = try answer.json
        #expect(json["time"] == .string(TestGateway.startText))
        #expect(
            json["reasons"].map(Self.sorted)
                == #"[{"count":3,"outcome":"REJECTED","reason":"BadDeviceToken"}]"#)
        #expect(
            json["store"].map(Self.sorted)
                == #"{"problems":["The disk is full."],"writable":false}"#)
        #expect(
            json["certificates"].map(Self.sorted)
                == #"[{"file":"/etc/herald/tls.pem","subject":"listener","validUntil":"\#(TestGateway.startText)"}]"#)
    }
}
