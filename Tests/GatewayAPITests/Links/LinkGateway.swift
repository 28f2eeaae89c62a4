import Delivery
import HTTPListener
import HTTPTypes
import Hummingbird
import JSON
import Links
import NIOCore
import NIOEmbedded
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing
import Traces

@testable import GatewayAPI

/// What link hosts told of.
final class RecordedTraffic: LinkTraffic {
    struct Event: Hashable, Sendable {
        let event: LinkEvent
        let platform: LinkPlatform
    }

    private struct State {
        var events: [Event] = []
        var openings: [LinkOpening] = []
        var clicks: [ClickID] = []
        var reports: [DeviceReport] = []
    }

    private let state = Mutex(State())
    private let counter: LinkCounter?

    /// - Parameter counter: what is counted goes there too.
    init(_ counter: LinkCounter? = nil) {
        self.counter = counter
    }

    var events: [Event] { state.withLock { $0.events } }
    var openings: [LinkOpening] { state.withLock { $0.openings } }
    var clicks: [ClickID] { state.withLock { $0.clicks } }
    var reports: [DeviceReport] { state.withLock { $0.reports } }

    func count(_ events: [LinkEvent], of link: LinkID, on platform: LinkPlatform, at time: Timestamp) {
        counter?.count(events, of: link, on: platform, at: time)
        state.withLock { $0.events += events.map { Event(event: $0, platform: platform) } }
    }

    func take(_ opening: LinkOpening) -> ClickID {
        let click = ClickID.random()
        state.withLock { state in
            state.openings.append(opening)
            state.clicks.append(click)
        }
        return click
    }

    func take(_ report: DeviceReport, of click: ClickID) {
        state.withLock { state in
            if state.clicks.contains(click) { state.reports.append(report) }
        }
    }

    func invitation(_ name: String, of project: ProjectID) async throws -> LinkInvitation? {
        guard name == "alice" else { return nil }
        return LinkInvitation(parameters: LinkParameters(query: "link=https%3A%2F%2Fa.example%2Finvited"))
    }
}

/// A gateway whose project `demo` has links, and what its hosts told of.
struct LinkGateway: Sendable {
    static let prefix = "https://go.example.com"
    static let settings = LinkSettings(
        prefixes: [LinkPrefix(rawValue: prefix)!, LinkPrefix(rawValue: "https://links.example.com/promo")!],
        preview: LinkPrefix(rawValue: "https://preview.example.com"), targets: ["a.example", "*.b.example"])

    let gateway: TestGateway
    let traffic: RecordedTraffic
    let hosts = LinkHosts()
    private let counter: LinkCounter
    let services: GatewayServices
    private let responder: HostResponder

    init(
        _ settings: LinkSettings = settings, misses: Int = 0, proxies: Int = 0,
        clientLimits: ClientRateLimits = ClientRateLimits(.none), tracer: StepTracer? = nil
    ) async throws {
        gateway = try await TestGateway(clientLimits: clientLimits)
        let project = Self.project(settings)
        try hosts.replace(with: [project])
        gateway.services.request.projects.replace(with: [project, TestGateway.project("other", 99)])
        var services = gateway.services
        services.tracer = tracer
        services.request.linkHosts = hosts
        let directory = LinkDirectory(store: gateway.store)
        // Budgets do not fill while a test runs.
        let start = ContinuousClock.now
        let (clock, store) = (gateway.clock, gateway.store)
        let counter = LinkCounter(wallTime: { clock.now }, logger: services.logger) { counts throws(StoreError) in
            try await store.add(counts)
        }
        self.counter = counter
        traffic = RecordedTraffic(counter)
        let key = DigestKey(try await store.digestKey())
        services.request.attribution = LinkAttribution(
            store: store,
            clicks: ClickRecorder(store: store, key: key, wallTime: { clock.now }, logger: services.logger),
            key: key, count: { counter.count($0.event, of: $0.link, on: $0.platform) })
        services.links = try LinkResponder(
            hosts: hosts, lookUp: { try await directory.link($0) }, traffic: traffic,
            misses: MissBudget(rate: misses, now: { start }),
            proxies: proxies, wallTime: { clock.now })
        self.services = services
        responder = GatewayRouter(services: services, limits: BodyLimits(standard: 1 << 20)).responder()
    }

    static func project(_ settings: LinkSettings, id name: String = "demo") -> Project {
        let id = AppID(rawValue: "com.example.app")!
        return Project(
            id: ProjectID(rawValue: name)!, number: 123_456_789_012,
            apps: [
                App(
                    id: id, environment: .production, firebaseKeys: .none,
                    links: AppLinkIdentity(appStoreID: 1_234_567_890, appIDPrefix: "TEAM123456")),
                App(id: id, service: .android(isReached: false), links: AppLinkIdentity(sha256: ["14:6D"])),
            ], links: settings)
    }

    /// Sends a request to the API with a key of `role`.
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, as role: Role? = .admin,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        try await gateway.request(method, path, body, as: role, headers: headers, over: services)
    }

    /// Adds what was counted so far to the store.
    func flush() async { await counter.flush() }

    /// Makes a short link and returns its URL.
    func shorten(_ long: String, option: String? = nil, as role: Role = .client) async throws -> String {
        let suffix = option.map { #","suffix":{"option":"\#($0)"}"# } ?? ""
        let answer = try await call(.post, "/v1/shortLinks", #"{"longDynamicLink":"\#(long)"\#(suffix)}"#, as: role)
        return try #require(try answer.json["shortLink"]?.stringValue, "\(answer.text)")
    }

    /// Asks for a URL as a client does, by its host.
    func open(
        _ url: String, _ agent: Agent = .desktop, method: HTTPRequest.Method = .get, headers: HTTPFields = [:],
        body: String? = nil
    ) async throws -> Answer {
        let parts = try #require(url.firstMatch(of: /^https?:\/\/([^\/?]+)(.*)$/))
        var headers = headers
        headers[.userAgent] = agent.rawValue
        let path = String(parts.2)
        let head = HTTPRequest(
            method: method, scheme: "https", authority: String(parts.1),
            path: path.hasPrefix("/") ? path : "/" + path, headerFields: headers)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body ?? "")))
        let channel = NIOAsyncTestingChannel()
        let source = ApplicationRequestContextSource(channel: channel, logger: gateway.services.logger)
        let response = try await responder.respond(to: request, context: GatewayRequestContext(source: source))
        let written = WrittenBody()
        try await response.body.write(written)
        try await channel.close()
        return Answer(status: response.status.code, headers: response.headers, text: written.text)
    }

    /// Who asks.
    enum Agent: String {
        case chrome =
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"
        case firefox = "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0"
        case iPhone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
        case mac =
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15"
        case desktop = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
        case twitterbot = "Twitterbot/1.0"
    }
}

/// Takes the bytes of an answer.
private final class WrittenBody: ResponseBodyWriter {
    private let bytes = Mutex(ByteBuffer())

    var text: String { bytes.withLock { String(buffer: $0) } }

    func write(_ buffer: ByteBuffer) async throws {
        bytes.withLock { _ = $0.writeImmutableBuffer(buffer) }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
