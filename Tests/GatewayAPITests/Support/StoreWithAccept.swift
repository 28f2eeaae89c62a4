import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// A store that a test accepts messages for; everything else is the store's own.
struct StoreWithAccept: MessageStore {
    typealias Accept =
        @Sendable (_ messages: [NewMessage], _ worker: WorkerID?) async throws(StoreError) -> [AcceptResult]

    private let store: SQLiteStore
    private let accept: Accept

    init(_ store: SQLiteStore, accept: @escaping Accept) {
        self.store = store
        self.accept = accept
    }

    func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] { try await accept(messages, worker) }

    func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] { try await store.uses(of: keys, in: project, at: time) }

    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await store.message(id, in: project)
    }

    var load: StoreLoad { store.load }

    func audience(of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID)
        async throws(StoreError) -> Int
    {
        try await store.audience(of: recipient, in: project)
    }

    func audienceBound(of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID)
        async throws(StoreError) -> Int
    {
        try await store.audienceBound(of: recipient, in: project)
    }

    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        try await store.control(id, in: project, control, at: time, by: credential)
    }

    func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetIdempotencyKeys(expiredBefore: time, limit: limit)
    }
}
