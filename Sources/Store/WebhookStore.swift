package import PushModel

/// Endpoints of webhooks: who they are, how far they are, and what became of requests to them.
package protocol WebhookStore: Sendable {
    /// Adds an endpoint, unless its project has `limit` of them.
    ///
    /// - Returns: whether there was room.
    func add(_ endpoint: WebhookEndpoint, limit: Int, audit: AuditEntry) async throws(StoreError) -> Bool

    /// One endpoint.
    func webhook(_ id: WebhookID, in project: ProjectID) async throws(StoreError) -> WebhookEndpoint?

    /// The endpoints of a project, or of all, in the order in which they were made.
    func webhooks(of project: ProjectID?) async throws(StoreError) -> [WebhookEndpoint]

    /// Changes an endpoint. A change of its URL or state lets the next attempt begin at once. While a replay is under way
    /// a change that begins another one changes nothing, and leaves no audit entry.
    ///
    /// - Returns: the endpoint as it is then; `nil`: there is none.
    func change(
        _ id: WebhookID, in project: ProjectID, _ change: WebhookChange, at time: Timestamp, audit: AuditEntry
    ) async throws(StoreError) -> WebhookEndpoint?

    /// Removes an endpoint with its attempts and dead letters; says whether there was one.
    func removeWebhook(_ id: WebhookID, in project: ProjectID, audit: AuditEntry) async throws(StoreError) -> Bool

    /// Writes down what an endpoint's sender did, in one transaction. A position that was worked out for an earlier revision
    /// counts for the cursor alone, which never goes back.
    func note(_ progress: WebhookProgress, of id: WebhookID, at time: Timestamp) async throws(StoreError)

    /// Attempts of an endpoint, the newest first.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func webhookAttempts(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookAttempt>

    /// Dead letters of an endpoint in the order of their events.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func deadLetters(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookDeadLetter>

    /// The first dead letter of an endpoint with an event in `range`.
    func deadLetter(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> WebhookDeadLetter?

    /// How many dead letters of an endpoint have an event in a range.
    func deadLetterCount(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> Int

    /// Writes an event that says where each of some messages stands; one that is complete meanwhile gets none.
    func noteProgress(of messages: [MessageID], in project: ProjectID, at time: Timestamp) async throws(StoreError)

    /// Forgets attempts that are older than `time`, and of each endpoint all but the newest; at most `limit`, and says how
    /// many.
    func forgetWebhookAttempts(before time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Forgets dead letters that are older than `time`; at most `limit`, and says how many.
    func forgetDeadLetters(before time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
