package import PushModel

/// Accepted messages.
package protocol MessageStore: Sendable {
    /// Commits messages with their work in one transaction; the results are in the same order. A message that is not taken
    /// says so in its result and leaves the others alone; when this throws, none was taken. When this returns, they
    /// survive a power cut. Calls at the same time share one commit.
    ///
    /// - Parameter worker: who sends single deliveries right away (``NewMessage/isSentAtOnce``): they are committed as
    ///   claimed by it and come back with the result. `nil`, or a worker whose lease ended: none is claimed.
    func accept(_ messages: [NewMessage], claimedBy worker: WorkerID?) async throws(StoreError) -> [AcceptResult]

    /// What is known of idempotency keys at `time`, in their order, in one read. ``accept(_:claimedBy:)`` looks again:
    /// this is for those who answer a repeat before they look at anything else.
    func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse]

    /// One message.
    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message?

    /// Those of some messages that there are, in any order, in one read.
    func messages(_ ids: [MessageID], in project: ProjectID) async throws(StoreError) -> [Message]

    /// What is not complete, as of the last commit of this process. Free: the accept limits ask for each request.
    var load: StoreLoad { get }

    /// How many active registrations a message to `recipient` would reach now (preflight), in time that grows with the
    /// audience. Exact as long as no registration begins or ends meanwhile: a large audience is counted in several snapshots.
    func audience(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int

    /// The most registrations that a message to `recipient` can reach now, from counts that are kept: in time that does not
    /// grow with the audience. Exact for what names registrations one by one.
    func audienceBound(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int

    /// Pauses, resumes or cancels a message. What changes nothing (pausing a paused message) is no error. What changes
    /// the state leaves an audit entry of `credential`.
    ///
    /// - Returns: the state afterwards: a complete message stays complete; `nil`: there is no such message.
    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState?

    /// Forgets idempotency keys that counted up to a moment before `time`, at most `limit`.
    ///
    /// - Returns: how many were forgotten.
    func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int
}

extension MessageStore {
    /// One read for each: for stores that only pass on what others know.
    package func messages(_ ids: [MessageID], in project: ProjectID) async throws(StoreError) -> [Message] {
        var messages: [Message] = []
        for id in ids {
            if let message = try await message(id, in: project) { messages.append(message) }
        }
        return messages
    }
}
