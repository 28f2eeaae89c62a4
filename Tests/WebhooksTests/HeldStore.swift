import PushModel
import Store
import Synchronization
import Webhooks

/// The store of a scene, in front of which a test holds what is read of events, and counts.
final class HeldStore: WebhookServices.Stores {
    private struct State {
        /// Reads of events so far.
        var reads = 0
        /// Messages that were looked up so far.
        var summaries = 0
        /// Steps of senders that were written down.
        var notes = 0
        /// The read from which on reads wait; `nil`: none does.
        var heldFrom: Int?
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(isDue: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let store: any WebhookServices.Stores
    private let state = Mutex(State())

    /// - Parameter heldFrom: the read of events from which on reads wait, from 1.
    init(_ store: any WebhookServices.Stores, heldFrom: Int? = nil) {
        self.store = store
        state.withLock { $0.heldFrom = heldFrom }
    }

    /// Messages that were looked up so far.
    var summaries: Int { state.withLock { $0.summaries } }

    /// Lets reads go on.
    func release() {
        let held = state.withLock { state in
            state.heldFrom = nil
            defer { state.held = [] }
            return state.held
        }
        for read in held { read.resume() }
    }

    /// Returns once a read waits.
    func untilHeld() async { await until { !$0.held.isEmpty } }

    /// Returns once so many steps of senders were written down.
    func untilNoted(_ count: Int) async { await until { $0.notes >= count } }

    private func until(_ isDue: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isDue(state) { return true }
                state.watchers.append((isDue, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Changes the state, and wakes those that wait for what it is now.
    private func change(_ body: (inout State) -> Void) {
        let due = state.withLock { state in
            body(&state)
            let now = state
            state.watchers = now.watchers.filter { !$0.isDue(now) }
            return now.watchers.filter { $0.isDue(now) }.map(\.continuation)
        }
        for watcher in due { watcher.resume() }
    }

    // MARK: Events

    func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage {
        await withCheckedContinuation { continuation in
            var isHeld = false
            change { state in
                state.reads += 1
                isHeld = state.heldFrom.map { state.reads >= $0 } ?? false
                if isHeld { state.held.append(continuation) }
            }
            if !isHeld { continuation.resume() }
        }
        return try await store.events(after: number, filter, limit: limit)
    }

    func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber {
        try await store.lastEvent(before: time)
    }

    func note(_ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp) async throws(StoreError) {
        try await store.note(notices, by: worker, at: time)
    }

    func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetEvents(before: time, limit: limit)
    }

    var changes: StoreChanges { store.changes }

    // MARK: Endpoints

    func add(_ endpoint: WebhookEndpoint, limit: Int, audit: AuditEntry) async throws(StoreError) -> Bool {
        try await store.add(endpoint, limit: limit, audit: audit)
    }

    func webhook(_ id: WebhookID, in project: ProjectID) async throws(StoreError) -> WebhookEndpoint? {
        try await store.webhook(id, in: project)
    }

    func webhooks(of project: ProjectID?) async throws(StoreError) -> [WebhookEndpoint] {
        try await store.webhooks(of: project)
    }

    func change(
        _ id: WebhookID, in project: ProjectID, _ change: WebhookChange, at time: Timestamp, audit: AuditEntry
    ) async throws(StoreError) -> WebhookEndpoint? {
        try await store.change(id, in: project, change, at: time, audit: audit)
    }

    func removeWebhook(_ id: WebhookID, in project: ProjectID, audit: AuditEntry) async throws(StoreError) -> Bool {
        try await store.removeWebhook(id, in: project, audit: audit)
    }

    func note(_ progress: WebhookProgress, of id: WebhookID, at time: Timestamp) async throws(StoreError) {
        try await store.note(progress, of: id, at: time)
        change { $0.notes += 1 }
    }

    func webhookAttempts(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookAttempt> {
        try await store.webhookAttempts(of: id, after: cursor, limit: limit)
    }

    func deadLetters(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookDeadLetter> {
        try await store.deadLetters(of: id, after: cursor, limit: limit)
    }

    func deadLetter(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> WebhookDeadLetter? {
        try await store.deadLetter(of: id, after: event, upTo: last)
    }

    func deadLetterCount(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> Int {
        try await store.deadLetterCount(of: id, after: event, upTo: last)
    }

    func noteProgress(of messages: [MessageID], in project: ProjectID, at time: Timestamp) async throws(StoreError) {
        try await store.noteProgress(of: messages, in: project, at: time)
    }

    func forgetWebhookAttempts(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetWebhookAttempts(before: time, limit: limit)
    }

    func forgetDeadLetters(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetDeadLetters(before: time, limit: limit)
    }

    // MARK: The ledger

    func backlog(of project: ProjectID) async throws(StoreError) -> [BacklogShare] {
        try await store.backlog(of: project)
    }

    func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport? {
        try await store.report(id, in: project)
    }

    func summary(of id: MessageID, in project: ProjectID) async throws(StoreError) -> MessageSummary? {
        change { $0.summaries += 1 }
        return try await store.summary(of: id, in: project)
    }

    func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        try await store.reports(in: project, state: state, after: cursor, limit: limit)
    }

    func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord> {
        try await store.deliveries(of: id, in: project, outcome: outcome, after: cursor, limit: limit)
    }

    func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        try await store.deliveries(to: registration, in: project, after: cursor, limit: limit)
    }

    func export(
        project: ProjectID, from start: Timestamp?, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        try await store.export(project: project, from: start, to: end, at: now, after: cursor, limit: limit)
    }

    func deliveryDays(
        of app: AppID, on platform: Platform?, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryDay> {
        try await store.deliveryDays(of: app, on: platform, in: project, after: cursor, limit: limit)
    }
}
