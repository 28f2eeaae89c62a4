import PushModel
public import Store
public import Testing

/// Everything a gateway asks of its store.
public typealias CompleteStore = RegistrationStore & SubscriptionStore & MessageStore & DeliveryStore & LedgerStore
    & CredentialStore

/// An implementation under test: one store that was empty at first.
public final class StoreSubject: Sendable {
    private let open: @Sendable () throws -> any CompleteStore
    private let lose: @Sendable (any CompleteStore) throws -> Void
    private let verify: @Sendable (any CompleteStore) async throws -> Void

    /// Describes an implementation.
    ///
    /// - Parameters:
    ///   - open: opens the store, each time with what is committed in it.
    ///   - lose: ends a store as a crash would: nothing that is claimed is settled.
    ///   - verify: whatever the implementation can check of its own tables.
    public init(
        open: @escaping @Sendable () throws -> any CompleteStore,
        lose: @escaping @Sendable (any CompleteStore) throws -> Void,
        verify: @escaping @Sendable (any CompleteStore) async throws -> Void
    ) {
        self.open = open
        self.lose = lose
        self.verify = verify
    }

    func makeScene() throws -> Scene {
        Scene(subject: self, store: try open())
    }

    fileprivate func reopen(_ store: any CompleteStore) throws -> any CompleteStore {
        try lose(store)
        return try open()
    }

    fileprivate func check(_ store: any CompleteStore) async throws {
        try await verify(store)
    }
}

/// One claim about stores. Every implementation runs all of ``all``.
public struct ConformanceCase: Sendable, CustomTestStringConvertible {
    /// The claim.
    public let name: String
    private let body: @Sendable (inout Scene) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (inout Scene) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The claim.
    public var testDescription: String { name }

    /// Checks the claim on an empty store.
    public func run(on subject: StoreSubject) async throws {
        var scene = try subject.makeScene()
        try await body(&scene)
        try await scene.check()
    }

    /// All claims.
    public static let all: [ConformanceCase] =
        registrations + subscriptions + messages + deliveries + settling + quarantine + rescue + ledger + credentials
}

/// A store with a project in it, and the steps that the cases are made of. Times are milliseconds.
struct Scene {
    private let subject: StoreSubject
    private(set) var store: any CompleteStore
    let project = ProjectID(rawValue: "demo")!
    let app = AppID(rawValue: "com.example.app")!
    /// Messages sent so far, in the order of accept.
    private(set) var sent: [MessageID] = []

    init(subject: StoreSubject, store: any CompleteStore) {
        self.subject = subject
        self.store = store
    }

    /// Loses the process and begins a new one.
    mutating func crash() throws {
        store = try subject.reopen(store)
    }

    /// Checks the law of every message, and what the implementation can check of itself.
    func check() async throws {
        for id in sent {
            let report = try #require(try await store.report(id, in: project))
            let ended = report.ended.values.reduce(0, +)
            #expect(report.recipients == ended + report.inFlight, "\(id)")
            #expect((report.state == .complete) == (report.completedAt != nil))
            #expect(report.rejectedByReason.values.reduce(0, +) == report.ended[.rejected] ?? 0)
        }
        try await subject.check(store)
    }

    func request(
        _ number: Int, version: String? = "1.0", environment: APNSEnvironment = .production
    ) -> RegistrationRequest {
        RegistrationRequest(
            project: project, app: app, deviceToken: Self.deviceToken(number), environment: environment,
            appVersion: version)
    }

    static func deviceToken(_ number: Int) -> DeviceToken {
        DeviceToken(bytes: Array(repeating: 0xd7, count: 28) + (0..<4).map { UInt8(number >> (8 * $0) & 0xff) })!
    }

    func register(_ number: Int, at time: Int64 = 0) async throws -> Registration {
        try await store.register(request(number), at: Timestamp(milliseconds: time)).registration
    }

    /// Registers `count` devices and subscribes them.
    func audience(_ count: Int, of topic: Topic, from first: Int = 0) async throws -> [Registration] {
        var registrations: [Registration] = []
        for number in first..<first + count {
            registrations.append(try await register(number))
        }
        _ = try await store.subscribe(registrations.map(\.key), to: topic, at: Timestamp(milliseconds: 0))
        return registrations
    }

    static func topic(_ name: String) -> Topic { Topic(rawValue: name)! }

    func newMessage(_ recipient: NewMessage.Recipient, at time: Int64, number: UInt64? = nil) throws -> NewMessage {
        let accepted = Timestamp(milliseconds: time)
        let source = JSONValue.object([
            .init(
                "notification", .object([.init("title", .string("Grüße")), .init("body", .string("\u{1F44B} \"x\""))]))
        ])
        return NewMessage(
            id: MessageID(acceptedAt: accepted, random: number ?? .random(in: 0 ... .max)), project: project,
            recipient: recipient, content: try MessageContent(source: source),
            facts: MessageFacts(
                label: AnalyticsLabel(rawValue: "spring"), isDisplayed: true, collapseKey: "news", priority: 10,
                timeToLiveSeconds: 3600),
            acceptedAt: accepted, expiresAt: Timestamp(milliseconds: time + 3_600_000))
    }

    mutating func send(_ recipient: NewMessage.Recipient, at time: Int64) async throws -> Message {
        let message = try await store.accept(newMessage(recipient, at: time))
        sent.append(message.id)
        return message
    }

    mutating func send(to registration: Registration, at time: Int64 = 1000) async throws -> Message {
        try await send(.registration(registration.key, registration.id), at: time)
    }

    mutating func broadcast(_ topic: Topic, at time: Int64 = 1000) async throws -> Message {
        try await send(.topic(topic), at: time)
    }

    func claimPage(_ limit: Int = 1000, at time: Int64 = 2000) async throws -> FanOutPage? {
        try await store.claimPage(limit: limit, at: Timestamp(milliseconds: time))
    }

    func claimDue(_ lane: Lane, at time: Int64 = 2000, limit: Int = 1000) async throws -> [ClaimedDelivery] {
        try await store.claimDue(lane, limit: limit, at: Timestamp(milliseconds: time))
    }

    @discardableResult
    func settle(_ settlements: [Settlement]) async throws -> [MessageID] {
        try await store.settle(settlements)
    }

    func report(_ message: Message) async throws -> DeliveryReport {
        try #require(try await store.report(message.id, in: project))
    }
}

extension ClaimedDelivery {
    /// The delivery ended.
    func ended(
        _ outcome: LedgerOutcome = .accepted, reason: String? = nil, verdict: DeviceTokenVerdict? = nil,
        at time: Int64 = 3000, latency: Int64 = 40
    ) -> Settlement {
        let history = AttemptHistory(
            attempts: history.attempts + 1, unknownAttempts: history.unknownAttempts, lastCause: reason)
        return Settlement(
            delivery: self,
            result: .ended(
                LedgerEntry(
                    outcome: outcome, reason: reason, verdict: verdict, history: history,
                    time: Timestamp(milliseconds: time), latencyMilliseconds: latency,
                    apnsID: APNSID(message: message, registration: registration.key))))
    }

    /// The delivery is tried again.
    func retried(at time: Int64, cause: String = "connection_lost", isUnknown: Bool = true) -> Settlement {
        let history = AttemptHistory(
            attempts: history.attempts + 1, unknownAttempts: history.unknownAttempts + (isUnknown ? 1 : 0),
            lastCause: cause)
        return Settlement(delivery: self, result: .retry(history, notBefore: Timestamp(milliseconds: time)))
    }
}

/// Checks that `body` throws a StoreError of a kind.
func expectStoreError(_ code: StoreError.Code, _ body: () async throws -> Void) async throws {
    let error = await #expect(throws: StoreError.self) { try await body() }
    #expect(error?.code == code)
}
