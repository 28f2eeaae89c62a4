package import PushModel

/// The record of every delivery. Cursors are opaque to callers; a wrong one throws `.badCursor`.
package protocol LedgerStore: Sendable {
    /// What waits of a project by lane and app, read in one snapshot; shares without anything are left out. Deliveries of
    /// cancelled messages are none of it.
    func backlog(of project: ProjectID) async throws(StoreError) -> [BacklogShare]

    /// One message's report, read in one snapshot.
    func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport?

    /// What one message is, without what became of it.
    func summary(of id: MessageID, in project: ProjectID) async throws(StoreError) -> MessageSummary?

    /// Reports of a project's messages, the newest first; `state` keeps those that are in it.
    func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport>

    /// The deliveries of a message; `outcome` keeps those that ended so. They come in the order of recording, so that
    /// those that end while the list is read come later in it. When `outcome` is `nil`, deliveries in flight are listed
    /// after the ended ones, with no outcome: first those that have a row of their own (single ones and retries), then
    /// those that are claimed as part of a page.
    func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord>

    /// The deliveries to one registration that ended, those recorded last first: why a device got something or not.
    ///
    /// One call looks at a bounded part of the ledger: a page may have fewer than `limit` rows, or none, and go on. A
    /// registration that was purged, or is of another project, has none.
    func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow>

    /// Ledger rows of a project that were recorded in `start ..< end`, in that order; then the receipts that were.
    ///
    /// A row's time of recording is not the time when its delivery ended: the settlement is committed later than APNs
    /// answers. It is the newest end in its batch, or a later time that was given to a row or to an export before, and
    /// so never goes back. An export ends at `now` at the latest, and what is recorded after it is never put before its
    /// end: windows back to back (`a ..< b`, `b ..< c`) hold every row once, whenever they are read.
    ///
    /// What retention removed is never left out in silence: a window that had rows which are gone is refused, and so is a
    /// page whose rows went since the one before. Receipts have a time of their own, and go with their messages.
    ///
    /// - Parameters:
    ///   - start: `nil`: from the oldest row that there is.
    ///   - now: the present of the caller, the same for all pages of one export.
    /// - Throws: `.removed` with the oldest moment that can be exported.
    func export(
        project: ProjectID, from start: Timestamp?, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow>

    /// What became of the deliveries to an app's registrations, by the day when their messages were accepted and by
    /// label: the newest day first, in one snapshot. Deliveries of a fan-out are in it when they are claimed.
    ///
    /// - Parameter platform: which of the apps with this id; `nil`: all of them together.
    func deliveryDays(
        of app: AppID, on platform: Platform?, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryDay>
}

extension LedgerStore {
    /// Reports of a project's messages, the newest first, whatever their state.
    package func reports(
        in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        try await reports(in: project, state: nil, after: cursor, limit: limit)
    }
}
