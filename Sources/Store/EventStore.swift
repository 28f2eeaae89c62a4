package import PushModel

/// What happened, in the order of commit. An event is written in the transaction of the step that makes it: a step that
/// fails leaves none, and one that is committed leaves each of its events once.
package protocol EventStore: Sendable {
    /// Events after a number, at most `limit` of them; one call looks at a bounded part of the events, so a page may have
    /// fewer, or none, and go on after ``EventPage/last``.
    func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage

    /// The number after which the events at `time` and later come; the newest number when there are none. As exact as the
    /// times of events are ordered.
    func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber

    /// Writes which routes a worker pauses or resumes. A route is paused as long as one worker pauses it: what says nothing
    /// new makes no event, and ``DeliveryStore/takeOver(at:)`` resumes what the workers paused that it ends.
    ///
    /// - Throws: ``StoreError/Code-swift.enum/fenced`` for a worker that has ended.
    func note(_ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp) async throws(StoreError)

    /// Forgets events that happened before `time`, the oldest first: at most `limit` steps of those that made them.
    ///
    /// - Returns: how many steps; fewer than `limit`: no other is as old.
    func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Says that something was committed which others may have to know. Each iteration begins with what is committed
    /// after its iterator was made.
    var changes: StoreChanges { get }
}
