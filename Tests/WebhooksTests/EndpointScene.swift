import Foundation
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// A store with events, and the service over it, with a receiver that a test plays and a clock that it turns.
final class EndpointScene: Sendable {
    static let project = ProjectID(rawValue: "demo")!
    static let app = AppID(rawValue: "com.example.app")!
    static let start = Timestamp(seconds: 1_800_000_000)

    let directory: TestDirectory
    let store: SQLiteStore
    let clock = TestClock()
    let receiver: PlayedReceiver
    let worker: WorkerID

    init(_ reply: @escaping PlayedReceiver.Reply = { _ in WebhookAnswer(status: 204) }) async throws {
        directory = try TestDirectory()
        store = try SQLiteStore(
            directory: directory.file("data"), role: .gateway,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        receiver = PlayedReceiver(reply)
        worker = try await store.enroll("test", for: .seconds(1_000_000))
    }

    /// The time that the service sees.
    var now: Timestamp { Self.start + clock.now.offset }

    var services: WebhookServices {
        WebhookServices(
            store: store, transport: receiver, budget: ReadingBudget(clock: clock, isBusy: { false }), clock: clock,
            wallTime: { [clock] in Self.start + clock.now.offset }, random: { 0.5 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs the service beside `body`.
    func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let service = WebhookService(services)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await service.run() }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    func add(
        types: [EventType] = [.referralInvited], host: String = "a.example", after cursor: EventNumber = .zero,
        _ adapt: (inout WebhookSettings) -> Void = { _ in }
    ) async throws -> WebhookEndpoint {
        var settings = WebhookSettings(url: "https://\(host)/", types: types)
        adapt(&settings)
        let endpoint = WebhookEndpoint(
            id: .random(), project: Self.project, settings: settings,
            secrets: [.random(.symmetric, at: Self.start)], position: WebhookPosition(cursor: cursor),
            createdAt: Self.start, changedAt: Self.start)
        #expect(try await store.add(endpoint, limit: 20, audit: audit))
        return endpoint
    }

    private var audit: AuditEntry {
        AuditEntry(
            time: Self.start, project: Self.project, action: .webhookChanged, subject: "w",
            credential: CredentialUse(id: "k", name: nil, role: .admin, address: nil))
    }

    func change(_ endpoint: WebhookEndpoint, _ body: (inout WebhookChange) -> Void) async throws {
        var change = WebhookChange()
        body(&change)
        _ = try await store.change(endpoint.id, in: Self.project, change, at: now, audit: audit)
    }

    func found(_ endpoint: WebhookEndpoint) async throws -> WebhookEndpoint {
        try #require(try await store.webhook(endpoint.id, in: Self.project))
    }

    /// Makes events of which each is sent by itself: of invitations.
    func invite(_ count: Int) async throws {
        for _ in 0..<count {
            let id = InvitationID.random()
            _ = try await store.invite(
                Invitation(
                    id: id, project: Self.project, inviter: UserID(rawValue: "u\(id)")!, code: "\(id)", campaign: "c",
                    prefix: "go.example.com", parameters: "", notice: nil, createdAt: now))
        }
    }

    /// Accepts messages to a topic without members, with the label `spring`.
    func accept(_ count: Int) async throws {
        let topic = Recipient<RegistrationKey, [RegistrationKey]>.topic(Topic(rawValue: "empty")!)
        _ = try await store.accept(
            (0..<count).map { _ in NewMessage(sampleFor: topic, in: Self.project, at: Self.start.milliseconds) },
            claimedBy: nil)
    }

    /// Sends to `count` devices; every tenth is rejected. Their ends are events of one step.
    func broadcast(to count: Int) async throws {
        let topic = Topic(rawValue: "news")!
        var keys: [RegistrationKey] = []
        for number in 0..<count {
            let bytes = Array(repeating: 0xd7 as UInt8, count: 28) + (0..<4).map { UInt8(number >> (8 * $0) & 0xff) }
            let request = RegistrationRequest(
                project: Self.project, app: Self.app, address: .apple(DeviceToken(bytes: bytes)!, .production),
                appVersion: nil)
            keys.append(try await store.register(request, at: Self.start).registration.key)
        }
        _ = try await store.subscribe(keys, to: topic, at: Self.start)
        _ = try await store.accept(
            [NewMessage(sampleFor: .topic(topic), in: Self.project, at: Self.start.milliseconds)], claimedBy: nil)
        for fanOut in try await store.openFanOuts(limitPerProject: 10) {
            while true {
                let claim = try await store.claimPage(of: fanOut.id, limit: 1000, held: [], by: worker, at: now)
                if let page = claim.page {
                    _ = try await store.settle(
                        page.deliveries.enumerated().map { index, delivery in
                            index % 10 == 9
                                ? delivery.ended(.rejected, reason: "BadDeviceToken", at: now.milliseconds)
                                : delivery.ended(at: now.milliseconds)
                        }, by: worker)
                }
                if claim.isDone { break }
            }
        }
    }
}

/// A receiver that a test plays; it keeps what it is sent, and fails the test when two requests of an endpoint overlap.
final class PlayedReceiver: WebhookTransport {
    /// A request, with its number among those of its endpoint, from 1.
    struct Sent: Hashable, Sendable {
        let endpoint: WebhookID
        let number: Int
        let id: String
        let body: String
        let url: String
        let trace: String?
    }

    typealias Reply = @Sendable (Sent) async -> WebhookAnswer

    private struct State {
        var sent: [Sent] = []
        var taken: [Sent] = []
        var running: Set<WebhookID> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let reply: Reply

    init(_ reply: @escaping Reply) {
        self.reply = reply
    }

    /// What came, answered or not.
    var sent: [Sent] { state.withLock { $0.sent } }

    /// What was taken.
    var taken: [Sent] { state.withLock { $0.taken } }

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        let (sent, ready) = state.withLock { state in
            let isAlone = state.running.insert(request.endpoint).inserted
            #expect(isAlone, "two requests of an endpoint at a time")
            let sent = Sent(
                endpoint: request.endpoint, number: state.sent.count { $0.endpoint == request.endpoint } + 1,
                id: request.headers.first { $0.name == "webhook-id" }?.value ?? "",
                body: String(decoding: request.body, as: UTF8.self), url: request.url,
                trace: request.headers.first { $0.name == "traceparent" }?.value)
            state.sent.append(sent)
            let count = state.sent.count
            defer { state.watchers.removeAll { $0.count <= count } }
            return (sent, state.watchers.filter { $0.count <= count }.map(\.continuation))
        }
        for watcher in ready { watcher.resume() }
        let answer = await reply(sent)
        state.withLock { state in
            state.running.remove(request.endpoint)
            if answer.failure == nil { state.taken.append(sent) }
        }
        return answer
    }

    func keep(_ endpoints: Set<WebhookID>) async {}

    /// Returns once so many requests came, of whatever endpoint.
    func untilSent(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sent.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
