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

@testable import GatewayAPI

/// A gateway that is sent what makes no sense: its project has a web app, and links on hosts of their own.
struct FuzzGateway: Sendable {
    let gateway: TestGateway
    let services: GatewayServices
    let clicks: ClickRecorder

    static let apple = AppID(rawValue: "com.example.app")!
    static let android = AppID(rawValue: "com.example.droid")!
    static let settings = LinkSettings(
        prefixes: [
            LinkPrefix(host: "go.example.com"), LinkPrefix(host: "links.example.com", path: "/promo"),
        ],
        preview: LinkPrefix(host: "preview.example.com"), targets: ["a.example", "*.b.example"],
        heuristicApps: [apple])

    init() async throws {
        gateway = try await TestGateway(webApps: ["www.example.com"])
        let (store, clock, logger) = (gateway.store, gateway.clock, gateway.services.logger)
        let project = Self.project
        gateway.services.request.projects.replace(with: [project, TestGateway.project("other", 99)])
        let hosts = LinkHosts()
        try hosts.replace(with: [project])
        let counter = LinkCounter(
            wallTime: { clock.now }, logger: logger,
            write: { counts throws(StoreError) in try await store.add(counts) })
        let key = DigestKey(try await store.digestKey())
        clicks = ClickRecorder(store: store, key: key, wallTime: { clock.now }, logger: logger)
        let directory = LinkDirectory(store: store)
        var services = gateway.services
        services.request.linkHosts = hosts
        services.request.attribution = LinkAttribution(store: store, clicks: clicks, key: key) {
            counter.count($0.event, of: $0.link, on: $0.platform)
        }
        services.links = try LinkResponder(
            hosts: hosts, lookUp: { try await directory.link($0) },
            traffic: Links.RecordedTraffic(counter, clicks, invitations: store), wallTime: { clock.now })
        self.services = services
    }

    private static var project: Project {
        let plain = TestGateway.project("demo", 123_456_789_012, webApps: ["www.example.com"])
        let apps = plain.apps.values.map { app in
            var app = app
            if app.id == apple {
                app.links = AppLinkIdentity(appStoreID: 1_234_567_890, appIDPrefix: "TEAM123456")
            }
            return app
        }
        return Project(
            id: plain.id, number: plain.number, apps: apps + [App(id: android, service: .android(isReached: false))],
            links: settings)
    }

    /// Answers requests, one after the other.
    func client() -> FuzzClient { FuzzClient(services) }

    /// Sends one request with an administrator's key.
    func post(_ path: String, _ body: String) async throws -> Answer {
        try await gateway.request(.post, path, body, over: services)
    }

    /// Makes links, invitations with installs, and a click.
    func links() async throws -> FuzzScene.Links {
        func made(_ target: String) async throws -> String {
            let answer = try await post(
                "/v1/shortLinks",
                #"{"longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fa.example%2F\#(target)"}"#)
            return try #require(try answer.json["shortLink"]?.stringValue, "\(answer.text)")
        }
        let waiting = try await invited("summer")
        let click = TappedLink(
            url: "https://go.example.com/abc", app: AppKey(.android, Self.android),
            address: "198.51.100.7")
        clicks.record(click, of: Self.project.id)
        return try await FuzzScene.Links(
            link: made("one"), spare: made("two"), referral: invited("spring").referral,
            invitation: waiting.invitation,
            click: click.id.description)
    }

    /// An invitation, and an install that went on it.
    private func invited(_ campaign: String) async throws -> (invitation: String, referral: String) {
        let answer = try await post(
            "/v1/projects/demo/referral/invitations",
            #"{"inviter":"alice","campaign":"\#(campaign)","longDynamicLink":"#
                + #""https://go.example.com/?link=https%3A%2F%2Fa.example%2Fwelcome&ibi=com.example.app"}"#)
        let invitation = try #require(try answer.json["invitationId"]?.stringValue, "\(answer.text)")
        let url = try #require(try answer.json["shortLink"]?.stringValue)
        let install = try await post(
            "/v1/installAttribution",
            AttributionGateway.install(#","uniqueMatchLinkToCheck":"\#(url)","installId":"\#(campaign)""#)
        )
        return (
            invitation, try #require(try install.json["referralId"]?.stringValue, "\(install.text)")
        )
    }
}

/// Asks the whole responder of a gateway, without a socket.
struct FuzzClient {
    private let responder: HostResponder
    private let channel = NIOAsyncTestingChannel()
    private let services: GatewayServices

    init(_ services: GatewayServices) {
        self.services = services
        responder = GatewayRouter(services: services, limits: BodyLimits(standard: 1 << 20)).responder()
    }

    /// The answer with its body's text.
    func answer(_ request: Request) async throws -> (response: Response, text: String) {
        let source = ApplicationRequestContextSource(channel: channel, logger: services.logger)
        let response = try await responder.respond(
            to: request, context: GatewayRequestContext(source: source))
        let body = AnswerBody()
        try await response.body.write(body)
        return (response, body.text)
    }

    func close() async throws {
        try await channel.close()
    }
}

/// Takes the bytes of an answer.
private final class AnswerBody: ResponseBodyWriter {
    private let bytes = Mutex(ByteBuffer())

    var text: String { bytes.withLock { String(buffer: $0) } }

    func write(_ buffer: ByteBuffer) async throws {
        bytes.withLock { _ = $0.writeImmutableBuffer(buffer) }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
