import JSON
package import PushModel
package import Store
import Testing

/// An implementation under test: one store that was empty at first.
package final class StoreSubject: Sendable {
    /// By which the store counts leases.
    fileprivate let leaseTime: LeaseTime
    private let open: @Sendable () throws -> any CompleteStore
    private let lose: @Sendable (any CompleteStore) throws -> Void
    private let verify: @Sendable (any CompleteStore) async throws -> Void
    private let claimed: @Sendable (any CompleteStore) async throws -> [OpenFanOut.ID: Int]?
    /// Whether only one process can have the store open: then all workers of earlier processes are known to be gone.
    /// Otherwise they are when their leases run out.
    fileprivate let isExclusive: Bool

    /// Describes an implementation.
    ///
    /// - Parameters:
    ///   - leaseTime: by which the store counts leases.
    ///   - open: opens the store, each time with what is committed in it.
    ///   - lose: ends a store as a crash would: nothing that is claimed is settled.
    ///   - isExclusive: whether only one process can have the store open.
    ///   - verify: whatever the implementation can check of its own tables.
    ///   - claimed: how many deliveries each shard of a message that is not cancelled has claimed, if it keeps that.
    package init(
        leaseTime: LeaseTime, open: @escaping @Sendable () throws -> any CompleteStore,
        lose: @escaping @Sendable (any CompleteStore) throws -> Void,
        isExclusive: Bool,
        verify: @escaping @Sendable (any CompleteStore) async throws -> Void,
        claimed: @escaping @Sendable (any CompleteStore) async throws -> [OpenFanOut.ID: Int]? = { _ in nil }
    ) {
        self.leaseTime = leaseTime
        self.open = open
        self.lose = lose
        self.isExclusive = isExclusive
        self.verify = verify
        self.claimed = claimed
    }

    func makeScene() async throws -> Scene {
        let store = try open()
        return Scene(subject: self, store: store, worker: try await store.enroll("first", for: Scene.lease))
    }

    fileprivate func reopen(_ store: any CompleteStore) throws -> any CompleteStore {
        try lose(store)
        return try open()
    }

    fileprivate func claimed(_ store: any CompleteStore) async throws -> [OpenFanOut.ID: Int]? {
        try await claimed(store)
    }

    fileprivate func check(_ store: any CompleteStore) async throws {
        try await verify(store)
    }
}

/// The protocols of a store that a conformance case asks.
package enum StorePart: Hashable, Sendable, CaseIterable {
    case registrations, subscriptions, deviceGroups, messages, deliveries, ledger, credentials, serviceAccounts
    case installations, receipts, audit, events, links, clicks, referrals, retention, channels, webhooks, operators
}

/// One claim about stores. Every implementation runs all of ``all``.
package struct ConformanceCase: Sendable, CustomTestStringConvertible {
    /// The claim.
    package let name: String
    /// What it needs of a store. What comes beside this in its steps belongs to the scene: an audience, and the reports
    /// by which the law is checked.
    package private(set) var needs: Set<StorePart> = []
    private let body: @Sendable (inout Scene) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (inout Scene) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The claim.
    package var testDescription: String { name }

    /// Checks the claim on an empty store.
    package func run(on subject: StoreSubject) async throws {
        var scene = try await subject.makeScene()
        try await body(&scene)
        try await scene.check()
    }

    /// All claims.
    package static let all: [ConformanceCase] = groups.flatMap { needs, cases in
        cases.map { claim in
            var claim = claim
            claim.needs = needs
            return claim
        }
    }

    private static let groups: [(needs: Set<StorePart>, cases: [ConformanceCase])] = [
        ([.registrations], registrations + addresses + adoptions + owners + lifeCycle),
        ([.registrations, .subscriptions], subscriptions + topicLists + topicDays),
        ([.messages], messages + idempotency),
        (
            [.messages, .deliveries],
            deliveries + conditions + lists + routes + rescue + workers + leases + control
                + faults
        ),
        ([.messages, .deliveries, .ledger], settling + ledger + traffic),
        ([.registrations, .messages, .deliveries], quarantine + changes + channels),
        ([.messages, .deliveries, .receipts, .ledger], deliveryDays + receipts),
        ([.credentials], credentials),
        ([.credentials, .audit], audit),
        ([.operators, .audit], operators),
        ([.serviceAccounts], serviceAccounts),
        ([.registrations, .messages, .deliveries, .ledger, .events], events),
        ([.registrations, .deviceGroups], deviceGroups),
        ([.registrations, .installations], installations + bound),
        ([.registrations, .messages, .deliveries, .ledger, .audit, .channels], broadcastChannels),
        ([.links, .audit], links),
        ([.links, .messages], messageLinks),
        ([.clicks], clicks),
        ([.clicks, .referrals, .events], referrals),
        (
            [
                .registrations, .subscriptions, .messages, .deliveries, .ledger, .receipts, .events, .clicks, .webhooks,
            ], webhooks
        ),
        (
            [.registrations, .subscriptions, .messages, .deliveries, .ledger, .receipts, .events, .retention],
            retention + platformFacts
        ),
    ]
}

/// A store with a project in it, and the steps that the cases are made of. Times are milliseconds.
struct Scene {
    private let subject: StoreSubject
    private(set) var store: any CompleteStore
    let project = ProjectID(rawValue: "demo")!
    let app = AppID(rawValue: "com.example.app")!
    /// Messages sent so far, in the order of accept.
    private(set) var sent: [MessageID] = []
    /// Who claims and settles.
    private(set) var worker: WorkerID

    /// How long leases last that do not run out while the process lives.
    static let lease: Duration = .milliseconds(1 << 50)
    /// The end of such a lease of the process of now: those of later processes end later.
    private var leaseEnd = Timestamp(milliseconds: 0) + Self.lease
    /// The end of the leases of the process before, as long as its claims are not given back.
    private var lost: Timestamp?
    /// Whether ``lost`` is of workers of the process of now.
    private var hasGivenUp = false

    init(subject: StoreSubject, store: any CompleteStore, worker: WorkerID) {
        self.subject = subject
        self.store = store
        self.worker = worker
    }

    /// Loses the process and begins a new one, with a worker of its own.
    mutating func crash() async throws {
        store = try subject.reopen(store)
        lost = leaseEnd
        leaseEnd = leaseEnd + .seconds(1)
        worker = try await store.enroll("next", for: lease)
    }

    /// The workers of the process of now are not used any more: what they have comes back when their leases are over.
    mutating func giveUp() {
        (lost, hasGivenUp) = (leaseEnd, true)
        leaseEnd = leaseEnd + .seconds(1)
    }

    /// How long a lease lasts that does not run out while the process of now lives.
    var lease: Duration { subject.leaseTime.remaining(to: leaseEnd.milliseconds) }

    /// Enrols a worker whose lease ends at `time`.
    func enroll(_ name: String, until time: Int64) async throws -> WorkerID {
        try await store.enroll(name, for: subject.leaseTime.remaining(to: time))
    }

    /// Has a worker's lease end at `time`.
    func renew(_ worker: WorkerID, until time: Int64) async throws {
        try await store.renew(worker, for: subject.leaseTime.remaining(to: time))
    }

    /// Gives back what earlier processes had claimed.
    mutating func rescue(at time: Int64 = 2000) async throws -> Int {
        try await store.takeOver(at: timeOfRescue(time))
    }

    /// `time`, or the first time after it when the workers of a process that was lost are known to be gone. The store's
    /// clock shows it then.
    mutating func timeOfRescue(_ time: Int64) -> Timestamp {
        defer { (lost, hasGivenUp) = (nil, false) }
        var time = Timestamp(milliseconds: time)
        if let lost, hasGivenUp || !subject.isExclusive { time = max(time, lost + .milliseconds(1)) }
        subject.leaseTime.turn(to: time)
        return time
    }

    /// What the cases of leases need of it.
    func leaseSubject() async throws -> LeaseSubject {
        LeaseSubject(store: store, leaseTime: subject.leaseTime, registration: try await register(1))
    }

    /// How many deliveries each shard has claimed, if the store keeps that.
    func claimedByShard() async throws -> [OpenFanOut.ID: Int]? {
        try await subject.claimed(store)
    }

    /// Checks the law of every message, and what the implementation can check of itself.
    func check() async throws {
        try await checkLaw()
        for id in sent { checkLaw(try #require(try await store.report(id, in: project))) }
        try await checkEvents()
        try await subject.check(store)
    }

    /// Checks the law of every message by the list of reports, whose pages are read in one snapshot each.
    func checkLaw() async throws {
        var (missing, cursor) = (Set(sent), String?.none)
        repeat {
            let page = try await store.reports(in: project, after: cursor, limit: 200)
            for report in page.elements {
                checkLaw(report)
                missing.remove(report.message.id)
            }
            cursor = page.nextCursor
        } while cursor != nil
        #expect(missing.isEmpty)
    }

    private func checkLaw(_ report: DeliveryReport) {
        let id = report.message.id
        let ended = report.ended.values.reduce(0, +)
        #expect(report.recipients == ended + report.inFlight, "\(id)")
        #expect(report.state != .complete || report.completedAt != nil, "\(id)")
        #expect(report.completedAt == nil || [.complete, .cancelled].contains(report.state), "\(id)")
        #expect(report.completedAt == nil || report.inFlight == 0, "\(id)")
        #expect(report.rejectedByReason.values.reduce(0, +) == report.ended[.rejected] ?? 0, "\(id)")
    }

    func request(
        _ number: Int, version: String? = "1.0", environment: PushEnvironment = .production,
        owner: RegistrationOwner? = nil
    ) -> RegistrationRequest {
        RegistrationRequest(
            project: project, app: app, address: .apple(Self.deviceToken(number), environment),
            appVersion: version, owner: owner)
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

    func newMessage(_ recipient: Recipient<RegistrationKey, [RegistrationKey]>, at time: Int64, number: UInt64? = nil)
        throws -> NewMessage
    {
        NewMessage(sampleFor: recipient, in: project, at: time, number: number)
    }

    mutating func send(_ recipient: Recipient<RegistrationKey, [RegistrationKey]>, at time: Int64) async throws
        -> Message
    {
        try await send(newMessage(recipient, at: time))
    }

    mutating func send(_ new: NewMessage) async throws -> Message {
        let message = try await store.accept(new)
        note(message)
        return message
    }

    /// Has the law of a message checked that was accepted past ``send(_:)``.
    mutating func note(_ message: Message) {
        sent.append(message.id)
    }

    /// The law of a message that is removed is not checked any more.
    mutating func forget(_ message: Message) {
        sent.removeAll { $0 == message.id }
    }

    mutating func send(to registration: Registration, at time: Int64 = 1000) async throws -> Message {
        try await send(.registration(registration.key), at: time)
    }

    mutating func broadcast(_ topic: Topic, at time: Int64 = 1000) async throws -> Message {
        try await send(.topic(topic), at: time)
    }

    /// Shards with something to claim.
    func openFanOuts() async throws -> [OpenFanOut] {
        try await store.openFanOuts(limitPerProject: 1000)
    }

    /// Claims from the first shard that has somebody.
    func claimPage(
        _ limit: Int = 1000, at time: Int64 = 2000, held: Set<PushRoute> = [], by worker: WorkerID? = nil
    ) async throws -> FanOutPage? {
        for fanOut in try await openFanOuts() where fanOut.route.map({ !held.contains($0) }) ?? true {
            while true {
                let claim = try await store.claimPage(
                    of: fanOut.id, limit: limit, held: held, by: worker ?? self.worker,
                    at: Timestamp(milliseconds: time))
                if let page = claim.page { return page }
                if claim.isDone { break }
            }
        }
        return nil
    }

    /// Claims from every route that has something due.
    func claimDue(
        _ lane: Lane, at time: Int64 = 2000, limit: Int = 1000, by worker: WorkerID? = nil
    ) async throws -> [ClaimedDelivery] {
        let time = Timestamp(milliseconds: time)
        var claimed: [ClaimedDelivery] = []
        // What moved to another route is due there.
        while claimed.count < limit, let route = try await store.dueRoutes(lane, at: time).routes.first {
            claimed += try await store.claimDue(
                lane, route, limit: limit - claimed.count, by: worker ?? self.worker, at: time)
        }
        return claimed
    }

    @discardableResult
    func settle(_ settlements: [Settlement], by worker: WorkerID? = nil) async throws -> [MessageID] {
        try await store.settle(settlements, by: worker ?? self.worker).complete
    }

    func report(_ message: Message) async throws -> DeliveryReport {
        try #require(try await store.report(message.id, in: project))
    }
}

extension MessageStore {
    /// Accepts one message that was not there before, and claims nothing of it.
    func accept(_ message: NewMessage) async throws(StoreError) -> Message {
        guard case .accepted(let message, _)? = try await accept([message], claimedBy: nil).first else {
            throw StoreError(.failed, "The message was there before.")
        }
        return message
    }
}

extension NewMessage {
    /// A message that was accepted at `time`, in milliseconds, and lives for an hour.
    package init(
        sampleFor recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID, at time: Int64,
        number: UInt64? = nil
    ) {
        let accepted = Timestamp(milliseconds: time)
        let source = JSONValue.object([
            .init(
                "notification", .object([.init("title", .string("Grüße")), .init("body", .string("\u{1F44B} \"x\""))]))
        ])
        self.init(
            id: MessageID(acceptedAt: accepted, random: number ?? .random(in: 0 ... .max)), project: project,
            recipient: recipient, content: PlainContent(String(decoding: source.bytes, as: UTF8.self)),
            lane: recipient.lane,
            facts: MessageFacts(
                label: AnalyticsLabel(rawValue: "spring"), isDisplayed: true, collapseKey: "news", priority: 10,
                timeToLiveSeconds: 3600),
            acceptedAt: accepted, expiresAt: Timestamp(milliseconds: time + 3_600_000))
    }
}

extension Recipient<RegistrationKey, [RegistrationKey]> {
    /// The lane of an urgent message.
    var lane: Lane {
        switch self {
        case .registration: .interactive
        case .list(let keys), .user(_, let keys): keys.count > NewMessage.smallListLimit ? .bulk : .interactive
        case .topic, .condition: .bulk
        }
    }
}

extension ClaimedDelivery {
    /// The delivery ended.
    package func ended(
        _ outcome: LedgerOutcome = .accepted, reason: String? = nil, verdict: DeviceTokenVerdict? = nil,
        refusesDeviceToken: Bool = false, at time: Int64 = 3000, latency: Int64 = 40
    ) -> Settlement {
        let history = AttemptHistory(
            attempts: history.attempts + 1, unknownAttempts: history.unknownAttempts,
            interruptions: history.interruptions, lastCause: reason)
        return Settlement(
            delivery: self,
            result: .ended(
                LedgerEntry(
                    outcome: outcome, reason: reason, verdict: verdict, refusesDeviceToken: refusesDeviceToken,
                    history: history, time: Timestamp(milliseconds: time), latencyMilliseconds: latency,
                    pushID: PushID(message: message, registration: registration.key))))
    }

    /// The delivery is tried again.
    func retried(at time: Int64, cause: String = "connection_lost", isUnknown: Bool = true) -> Settlement {
        let history = AttemptHistory(
            attempts: history.attempts + 1, unknownAttempts: history.unknownAttempts + (isUnknown ? 1 : 0),
            interruptions: history.interruptions, lastCause: cause)
        return Settlement(delivery: self, result: .retry(history, notBefore: Timestamp(milliseconds: time)))
    }
}

/// Checks that `body` throws a StoreError of a kind.
func expectStoreError(_ code: StoreError.Code, _ body: () async throws -> Void) async throws {
    let error = await #expect(throws: StoreError.self) { try await body() }
    #expect(error?.code == code)
}
