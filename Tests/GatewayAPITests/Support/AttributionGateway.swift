import Delivery
import HTTPListener
import HTTPTypes
import JSON
import Links
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// A gateway whose project has links, with what tests do to them.
struct AttributionGateway {
    let gateway: TestGateway
    let services: GatewayServices
    let clicks: ClickRecorder
    let counted: Counted
    private let windows: ClickWindows

    static let prefix = LinkPrefix(host: "go.example.com")
    static let promo = LinkPrefix(host: "links.example.com", path: "/promo")
    static let app = AppKey(.apple, AppID(rawValue: "com.example.app")!)
    static let android = AppKey(.android, AppID(rawValue: "com.example.droid")!)

    /// What was counted of links.
    final class Counted: Sendable {
        private let counts = Mutex<[LinkCount]>([])

        func add(_ count: LinkCount) { counts.withLock { $0.append(count) } }

        var events: [LinkEvent] { counts.withLock { $0.map(\.event) } }
    }

    /// - Parameter change: of the links' settings.
    init(
        heuristic: Bool = true, isBroken: Bool = false, change: (inout LinkSettings) -> Void = { _ in }
    ) async throws {
        // The address that tests ask from stands in X-Forwarded-For.
        gateway = try await TestGateway(
            clientLimits: ClientRateLimits(.init(address: 0, registration: 0, project: 0, proxies: 1)))
        let apps = [
            App(id: Self.app.id, environment: .production, firebaseKeys: .none),
            App(id: Self.android.id, service: .android(isReached: false)),
        ]
        var settings = LinkSettings(
            prefixes: [Self.prefix, Self.promo], targets: ["a.example"], heuristicApps: heuristic ? [Self.app.id] : [])
        change(&settings)
        windows = settings.windows
        let project = Project(
            id: try #require(ProjectID(rawValue: "demo")), number: 123_456_789_012, apps: apps, links: settings)
        gateway.services.request.projects.replace(with: [project])
        let (store, clock) = (gateway.store, gateway.clock)
        let key = DigestKey(try await store.digestKey())
        let clicks = ClickRecorder(
            store: store, key: key, wallTime: { clock.now },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        clicks.index.keepWindows(of: [project])
        let counted = Counted()
        var services = gateway.services
        var attribution = LinkAttribution(store: store, clicks: clicks, key: key, count: { counted.add($0) })
        let start = ContinuousClock.now
        attribution.misses = MissBudget(rate: 1, now: { start })
        services.request.attribution = attribution
        // What fails then is the look-up of the key.
        if isBroken { try store.close() }
        (self.services, self.clicks, self.counted) = (services, clicks, counted)
    }

    /// Makes a short link.
    func link(_ suffix: String, _ query: String = "link=https%3A%2F%2Fa.example%2Fx&utm_source=mail&imv=2.0")
        async throws
        -> Link
    {
        let creation = try await gateway.store.create(
            NewLink(
                project: #require(ProjectID(rawValue: "demo")), prefix: Self.prefix.name, suffixes: [suffix],
                kind: .custom,
                parameters: query, createdAt: gateway.clock.now), audit: nil)
        guard case .created(let link) = creation else { throw StoreError(.failed, "The link is there.") }
        return link
    }

    /// Somebody taps a link on a phone behind the address that tests ask from.
    func tap(_ url: String, app: AppKey = app, invitation: InvitationID? = nil, page: PageTraits? = phone) throws
        -> ClickID
    {
        let id = ClickID.random()
        clicks.record(
            TappedLink(
                id: id, url: url, invitation: invitation, app: app, address: "198.51.100.7",
                languages: "en-US,en;q=0.9",
                system: "17_5_1", device: app.platform == .apple ? .phone : .android, windows: windows),
            of: try #require(ProjectID(rawValue: "demo")))
        if let page { clicks.describe(id, page) }
        return id
    }

    /// What the page of the preview says of the phone.
    static let phone = PageTraits(width: 390, height: 844, language: "en-US", timeZone: "Asia/Calcutta")

    /// What the iOS SDK sends at the first start of the app on that phone: the screen turned, the zone by its present name.
    static func install(_ more: String = "", bundle: String = "com.example.app") -> String {
        """
        {"bundleId":"\(bundle)","appInstallationTime":1767323044,"device":{"deviceModelName":"iPhone14,5",
        "languageCode":"en-US","languageCodeRaw":"en_US","languageCodeFromWebview":"en-US","screenResolutionWidth":844,
        "screenResolutionHeight":390,"timezone":"Asia/Kolkata"},"iosVersion":"17.5.1","sdkVersion":"10.29.0",
        "visualStyle":0,"retrievalMethod":1\(more)}
        """
    }

    /// Asks as a role, from the phone's address.
    func post(_ path: String, _ body: String, as role: Role? = .client, key: Bool = false) async throws -> Answer {
        var path = path
        if key { path += "?key=" + (try #require(gateway.keys[.client])).text }
        return try await gateway.request(
            .post, path, body, as: key ? nil : role, headers: [.forwardedFor: "198.51.100.7"], over: services)
    }

    /// Asks at the first start.
    func install(_ more: String = "", bundle: String = "com.example.app") async throws -> JSONValue {
        let answer = try await post("/v1/installAttribution", Self.install(more, bundle: bundle))
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.json
    }
}
