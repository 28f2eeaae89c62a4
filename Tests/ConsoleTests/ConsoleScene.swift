import APNS
import Delivery
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JSON
import Links
import Logging
import NIOCore
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing
import Webhooks

@testable import Console
@testable import GatewayAPI

/// A gateway with a console over a real store in a directory of its own, with an operator of each role.
final class ConsoleScene: Sendable {
    static let startTime = Timestamp(milliseconds: 1_767_323_045_678)

    let directory: TestDirectory
    let store: SQLiteStore
    let services: GatewayServices
    let clock: Dial
    let publicURL: String
    let receiver = Receiver()
    let demo: ProjectID
    let other: ProjectID

    /// A receiver of webhooks that answers what a test says.
    final class Receiver: WebhookTransport {
        let status = Mutex(204)

        func send(_ request: WebhookRequest) async -> WebhookAnswer {
            WebhookAnswer(status: status.withLock { $0 }, text: "<b>thanks</b>")
        }

        func keep(_ endpoints: Set<WebhookID>) async {}
    }

    /// The time that the gateway sees.
    final class Dial: Sendable {
        private let time: Mutex<Timestamp>

        init(_ time: Timestamp) {
            self.time = Mutex(time)
        }

        var now: Timestamp { time.withLock { $0 } }

        func advance(by duration: Duration) {
            time.withLock { $0 = $0 + duration }
        }
    }

    init(
        publicURL: String = "http://127.0.0.1:8080", oidc: OIDCConfiguration? = nil,
        reviewCountLimit: Int? = nil
    ) async throws {
        let clock = Dial(Self.startTime)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: logger)
        let projects = ProjectDirectory([
            try Self.project("demo", 123_456_789_012), try Self.project("other", 99),
        ])
        let linkHosts = LinkHosts()
        try linkHosts.replace(with: projects.projects)
        let refusals = RefusalCatalog.sample
        var services = GatewayServices(
            store: store,
            acceptor: MessageAcceptor(
                store: store, composer: AppleComposer(), admission: Admission(in: store, limits: DeliveryLimits()),
                runner: nil, wallTime: { clock.now }),
            controller: MessageController(store: store, runner: nil, wallTime: { clock.now }), projects: projects,
            upstreams: { [] }, storeState: { StoreState() }, refusals: refusals, metricsText: { "" },
            publicURL: { publicURL }, linkHosts: linkHosts, wallTime: { clock.now }, logger: logger)
        services.state.credentials = { _ in
            [
                CredentialStatus(
                    app: AppKey(.apple, AppID(rawValue: "com.example.app")!), kind: .apnsKey,
                    name: "TEAM123456/ABC1234567", file: "keys/<p8>", modified: Self.startTime + .seconds(-86_400),
                    upstreamWord: "TEAM123456/ABC1234567")
            ]
        }
        services.state.upstreams = {
            var upstream = UpstreamStatus(
                name: "api.push.apple.com:443 TEAM123456/ABC1234567", isReachable: true, lastFailure: nil,
                connections: 1, streamsInUse: 0, streamLimit: 10, queued: 0, queueLimit: 10)
            upstream.projects = [ProjectID(rawValue: "demo")!]
            upstream.routes = [
                PushRoute(
                    project: ProjectID(rawValue: "demo")!, app: AppID(rawValue: "com.example.app")!,
                    channel: .apns(.production))
            ]
            upstream.lastTrouble = UpstreamTrouble(reason: "InvalidProviderToken", time: Self.startTime)
            return [upstream]
        }
        services.request.webhooks = WebhookController(
            WebhookServices(
                store: store, transport: receiver,
                budget: ReadingBudget(clock: ContinuousClock(), isBusy: { false }), clock: ContinuousClock(),
                wallTime: { clock.now }, random: { 0.5 }, logger: logger), policy: WebhookPolicy(),
            lookup: { _, _ in .failure(WebhookLookupFailure("no name server")) })
        let key = DigestKey(try await store.digestKey())
        let clicks = ClickRecorder(store: store, key: key, wallTime: { clock.now }, logger: logger)
        services.request.attribution = LinkAttribution(store: store, clicks: clicks, key: key) { _ in }
        var configuration = ConsoleConfiguration()
        configuration.oidc = oidc
        var consoleServices = ConsoleServices(
            store: store, projects: projects, publicURL: { publicURL }, refusals: refusals,
            composer: AppleComposer(),
            traffic: { _, span in
                TrafficSeries(
                    span: span, start: Self.startTime, counts: Array(repeating: [.accepted: 3], count: span.steps))
            }, linkHosts: linkHosts,
            makeKey: { project, role, time, name, end in
                let key = APIKey(project: project, role: role, at: time, name: name, expiresAt: end)
                return (key.text, key.record)
            }, settings: [SettingSection("Listener", [.init("listen.port", "8080")])], wallTime: { clock.now },
            logger: logger)
        if let reviewCountLimit { consoleServices.reviewCountLimit = reviewCountLimit }
        let responder = try ConsoleResponder(consoleServices, configuration: configuration)
        services.console = ConsoleMount(path: "/console") { request, peer, calls in
            await responder.respond(to: request, from: peer, calls: calls)
        }
        self.directory = directory
        self.store = store
        self.services = services
        self.clock = clock
        self.publicURL = publicURL
        demo = try #require(ProjectID(rawValue: "demo"))
        other = try #require(ProjectID(rawValue: "other"))
        for role in OperatorRole.allCases { _ = try await grant(role, in: demo, to: role.rawValue) }
    }

    private static func project(_ id: String, _ number: Int64) throws -> Project {
        Project(
            id: try #require(ProjectID(rawValue: id)), number: number,
            apps: [
                App(
                    id: try #require(AppID(rawValue: "com.example.app")), environment: .production, firebaseKeys: .none)
            ],
            links: LinkSettings(prefixes: [LinkPrefix(host: "go.\(id).example")], targets: ["www.example.com"]))
    }

    /// Makes an operator.
    func grant(_ role: OperatorRole, in project: ProjectID, to name: String) async throws -> OperatorName {
        let name = try #require(OperatorName(rawValue: name))
        _ = try await store.grant(role, in: project, to: name, at: clock.now, by: .gateway)
        return name
    }

    /// A link that signs in, as a path.
    func link(for name: String) async throws -> String {
        let link = ConsoleSignInLink(for: try #require(OperatorName(rawValue: name)), at: clock.now)
        #expect(try await store.insert(link.record))
        return link.url(below: "", path: "/console")
    }

    /// Registers a device; its token.
    func register(_ digits: String = "00aa11", user: String? = nil) async throws -> Registration {
        let hex = String(repeating: "0", count: 64 - digits.utf8.count) + digits
        return try await store.register(
            RegistrationRequest(
                project: demo, app: #require(AppID(rawValue: "com.example.app")),
                address: .apple(#require(DeviceToken(hex: hex)), .production), appVersion: nil,
                owner: user.flatMap(UserID.init(rawValue:)).map { .user($0) }), at: clock.now
        ).registration
    }

    /// A browser in which an operator has signed in.
    func signIn(_ name: String) async throws -> Browser {
        var browser = Browser(scene: self)
        let answer = try await browser.post(link(for: name))
        #expect(answer.status == 303)
        return browser
    }
}

/// What a console answered.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String

    var location: String? { headers[.location] }
}

/// Keeps cookies, and the token of forms of the page that it saw last.
struct Browser: Sendable {
    let scene: ConsoleScene
    var cookies: [String: String] = [:]
    var token = ""

    init(scene: ConsoleScene) {
        self.scene = scene
    }

    mutating func get(_ path: String, headers: HTTPFields = [:]) async throws -> Answer {
        try await request(.get, path, nil, headers)
    }

    /// Posts a form with the token of the session.
    mutating func post(
        _ path: String, _ fields: [String: String] = [:], token: String? = nil, headers: HTTPFields = [:]
    ) async throws -> Answer {
        var fields = fields
        fields["_token"] = token ?? self.token
        let body = fields.map { "\($0.urlEncoded)=\($1.urlEncoded)" }.joined(separator: "&")
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await request(.post, path, body, headers)
    }

    mutating func request(
        _ method: HTTPRequest.Method, _ path: String, _ body: String?, _ headers: HTTPFields
    ) async throws -> Answer {
        var headers = headers
        if !cookies.isEmpty { headers[.cookie] = cookies.map { "\($0)=\($1)" }.joined(separator: "; ") }
        let application = Application(
            responder: GatewayRouter(services: scene.services, limits: BodyLimits()).responder(),
            logger: scene.services.logger)
        let answer = try await application.test(.router) { [headers] client in
            let response = try await client.executeRequest(
                uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
            return Answer(
                status: response.status.code, headers: response.headers, text: String(buffer: response.body))
        }
        for cookie in answer.headers[values: .setCookie] {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = pair.count > 1 ? String(pair[1]) : ""
        }
        if let found = answer.text.firstMatch(of: /name="_token" value="([^"]+)"/) { token = String(found.output.1) }
        return answer
    }
}
