import Delivery
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport

/// A SQLite store of its own for one test, which says what passed through it, and fails when it is told to.
///
/// What ended is read from the events of the store; what is claimed or waits follows from the answers of its calls. What
/// the runner must not ask, although the store would take it, lands in ``violations``.
actor ObservedStore {
    /// The calls that tests ask for.
    enum Call {
        case accept, uses, message, audience, control, forgetIdempotencyKeys
        case enroll, renew, takeOver, openFanOuts, claimPage, dueRoutes, claimDue, settle, bookCancelled, backlog
        case addTraffic
    }

    struct Key: Hashable {
        var message: MessageID
        var registration: RegistrationKey
    }

    struct Book {
        /// As it was accepted; `nil`: nothing but its events is known.
        var message: Message?
        var facts: MessageFacts?
        var ended: [LedgerOutcome: Int] = [:]
        var isComplete = false
    }

    struct Waiting {
        var history: AttemptHistory
    }

    struct Claim {
        var delivery: ClaimedDelivery
        var worker: WorkerID
    }

    /// A call of which the next ones fail.
    private struct Failure {
        var calls: Set<Call>
        var left: Int
        var error: StoreError
    }

    /// The store's clock, which a test may move ahead.
    private final class LeaseClock: Sendable {
        private let state = Mutex<(time: WallTime, ahead: Duration)>(({ Sample.start }, .zero))

        var now: Timestamp { state.withLock { $0.time() + $0.ahead } }
        func use(_ time: @escaping WallTime) { state.withLock { $0.time = time } }
        func go(ahead: Duration) { state.withLock { $0.ahead = ahead } }
    }

    var books: [MessageID: Book] = [:]
    var waiting: [Key: Waiting] = [:]
    var claims: [Key: Claim] = [:]
    var ledger: [Key: LedgerEntry] = [:]
    /// When what was to be tried again is due, in order.
    var retries: [Key: [Timestamp]] = [:]
    var events: [Event] = []
    /// Which project each claimed page was of, in order, with its size.
    var pages: [(project: ProjectID, message: MessageID, count: Int)] = []
    var violations: [String] = []
    private(set) var calls: [Call: Int] = [:]

    private let directory: TestDirectory
    private let leaseClock = LeaseClock()
    private nonisolated let opened: Mutex<any AdministeredStore>
    private var keys: [RegistrationID: RegistrationKey] = [:]
    private var failures: [Failure] = []
    private var refused: RegistrationKey?
    private var disowned: RegistrationKey?
    private var unreadable: Set<MessageID> = []
    private var lostAnswer: Call?
    private var isCrashed = false
    private var running = 0
    private var hungCall: Call?
    private var hanging: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(condition: @Sendable (isolated ObservedStore) -> Bool, CheckedContinuation<Void, Never>)] =
        []

    init() {
        do {
            directory = try TestDirectory()
            opened = Mutex(try Self.open(directory, leaseClock))
        } catch {
            preconditionFailure("no store in a new directory: \(error)")
        }
    }

    private static func open(_ directory: TestDirectory, _ leaseClock: LeaseClock) throws(StoreError)
        -> any AdministeredStore
    {
        try SQLiteStore(
            directory: directory.path, role: .gateway, leaseTime: { leaseClock.now },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    deinit {
        // The directory goes too: what is wrong with the store then is nothing to a test.
        try? base.close()
    }

    /// The store that keeps what passes through.
    nonisolated var base: any AdministeredStore { opened.withLock { $0 } }

    /// The claimed deliveries.
    var claimed: [Key: ClaimedDelivery] { claims.mapValues(\.delivery) }
}

// MARK: - What tests do

extension ObservedStore {
    /// Counts leases by `time` from now on.
    nonisolated func countLeases(by time: @escaping WallTime) { leaseClock.use(time) }

    /// Adds registrations; in an empty store number 1 has key 1, and so on.
    ///
    /// - Returns: their keys, in ascending order.
    @discardableResult
    func add(_ registrations: [Registration], subscribed: Bool = false) async throws -> [RegistrationKey] {
        for (project, registrations) in Dictionary(grouping: registrations, by: \.project) {
            let refused = try await base.importRegistrations(
                registrations.map { ImportedRegistration($0, topics: subscribed ? [Sample.topic] : []) },
                into: project, source: "test", position: ImportPosition(fingerprint: 0, line: 0, offset: 0),
                at: Sample.start, by: .gateway)
            guard refused.isEmpty else { throw StoreError(.failed, "not added: \(refused)") }
            for registration in registrations {
                keys[registration.id] = try await base.registration(registration.id, in: project)?.key
            }
        }
        return registrations.compactMap { keys[$0.id] }.sorted()
    }

    func add(_ registration: Registration, subscribed: Bool = false) async throws {
        try await add([registration], subscribed: subscribed)
    }

    /// The registration number `number` as it is now.
    func registration(_ number: Int64, of project: ProjectID = Sample.projectID) async throws -> Registration? {
        try await base.registration(Sample.registration(number).id, in: project)
    }

    /// The app of a registration tells its new device token.
    func move(_ key: RegistrationKey, to token: DeviceToken, at time: Timestamp) async throws {
        _ = try await base.change(key, RegistrationChange(address: .deviceToken(token)), at: time)
    }

    func end(_ key: RegistrationKey, _ cause: RegistrationEnd.Cause) async throws {
        try await base.end(key, RegistrationEnd(time: Sample.start, cause: cause))
    }

    /// The next `count` of these calls fail.
    func fail(_ calls: Set<Call>, _ count: Int, as code: StoreError.Code = .failed) {
        failures.append(
            Failure(
                calls: calls, left: count,
                error: StoreError(code, "no space left on device", isOfWholeStore: code != .failed)))
    }

    /// Settlements of a registration are refused, and with them everything in the same step.
    func refuse(_ key: RegistrationKey?) { refused = key }

    /// The next step with a settlement of a registration changes nothing, as if the delivery were not claimed.
    func disown(_ key: RegistrationKey) { disowned = key }

    /// A message can't be read.
    func damage(_ message: MessageID) { unreadable.insert(message) }

    /// The next call of that kind does its work, and its caller does not learn of it.
    func loseAnswer(of call: Call) { lostAnswer = call }

    /// Calls of that kind wait, before they change anything, until ``letGo()``.
    func hang(_ call: Call) { hungCall = call }

    /// What hangs goes on.
    func letGo() {
        hungCall = nil
        for call in hanging { call.resume() }
        hanging = []
    }

    /// The process ends, whatever it is doing: every later call fails until ``restart()``.
    func crashNow() {
        isCrashed = true
        changed()
    }

    /// Another process opens the store.
    func restart() throws {
        try base.close()
        let next = try Self.open(directory, leaseClock)
        opened.withLock { $0 = next }
        isCrashed = false
        failures = []
    }

    /// Ends all workers, as if others had taken over.
    func fence(at time: Timestamp) async throws {
        leaseClock.go(ahead: .seconds(86_400))
        defer { leaseClock.go(ahead: .zero) }
        _ = try await takeOver(at: time)
    }

    /// Waits until `condition` holds.
    func until(_ condition: @escaping @Sendable (isolated ObservedStore) -> Bool) async {
        if condition(self) { return }
        await withCheckedContinuation { watchers.append((condition, $0)) }
    }

    /// Waits until `count` deliveries have ended.
    func untilEnded(_ count: Int) async {
        await until { $0.ledger.count >= count }
    }

    /// Waits until no call is under way, hanging ones aside.
    ///
    /// - Returns: whether there was none.
    func untilQuiet() async -> Bool {
        let isQuiet = running == hanging.count
        await until { $0.running == $0.hanging.count }
        return isQuiet
    }

    /// Waits until the store was told the figures of charts once, at the start.
    func untilFirstTraffic() async {
        await until { $0.calls[.addTraffic] != nil }
        while await !untilQuiet() {}
    }

    func entries(of message: MessageID) -> [LedgerEntry] {
        ledger.filter { $0.key.message == message }.sorted { $0.key.registration < $1.key.registration }.map(\.value)
    }
}

// MARK: - Calls

extension ObservedStore {
    /// Passes a call on. `body` takes down what it answers; what happened is read from the events.
    ///
    /// - Parameter call: `nil`: one that no test asks for.
    func call<Value>(
        _ call: Call?, _ body: (any AdministeredStore) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        running += 1
        defer {
            running -= 1
            changed()
        }
        guard !isCrashed else { throw Self.gone }
        if let call { try await begin(call) }
        let value = try await body(base)
        try await readEvents()
        guard !isCrashed else { throw Self.gone }
        if let call, lostAnswer == call {
            lostAnswer = nil
            throw StoreError(.failed, "the answer was lost", isOutcomeUnknown: true)
        }
        return value
    }

    private static let gone = StoreError(.unavailable, "the process has ended", isOfWholeStore: true)

    private func begin(_ call: Call) async throws(StoreError) {
        calls[call, default: 0] += 1
        changed()
        if hungCall == call {
            await withCheckedContinuation { continuation in
                hanging.append(continuation)
                changed()
            }
        }
        for place in failures.indices where failures[place].calls.contains(call) && failures[place].left > 0 {
            failures[place].left -= 1
            throw failures[place].error
        }
    }

    func checkReadable(_ message: MessageID) throws(StoreError) {
        guard !unreadable.contains(message) else { throw StoreError(.failed, "the message is damaged") }
    }

    func checkSettlable(_ settlements: [Settlement]) throws(StoreError) {
        guard !settlements.contains(where: { $0.delivery.registration.key == refused }) else {
            throw StoreError(.failed, "a row is refused")
        }
    }

    /// What a step is answered that has a settlement of the registration that was disowned.
    func takeDisowned(_ settlements: [Settlement]) -> SettleResult? {
        guard let unclaimed = settlements.first(where: { $0.delivery.registration.key == disowned }) else { return nil }
        disowned = nil
        return SettleResult(refused: [unclaimed.delivery.message])
    }

    func expect(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }

    func key(of registration: RegistrationID) -> RegistrationKey? { keys[registration] }

    private func changed() {
        var rest = watchers
        rest.removeAll { watcher in
            guard watcher.condition(self) else { return false }
            watcher.1.resume()
            return true
        }
        watchers = rest
    }
}
