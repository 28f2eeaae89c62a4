package import PushModel

/// What became of the deliveries to the registrations of an app whose messages were accepted on one day with one
/// label: ``recipients`` is the sum of ``ended`` and ``inFlight``.
package struct DeliveryDay: Hashable, Sendable {
    /// Days since 1970-01-01 in UTC.
    package var day: Int64
    /// The label; `nil`: none.
    package var label: AnalyticsLabel?
    /// Ended deliveries by how they ended.
    package var ended: [LedgerOutcome: Int]
    /// Deliveries that were claimed or wait, and have not ended.
    package var inFlight: Int
    /// Of all, those of messages that show something.
    package var displayed: Int
    /// Of all, those whose device reported that they came in.
    package var received: Int

    /// Of the accepted deliveries, those that came in. A device may be faster than the end of its delivery, and what
    /// ended otherwise may have come in all the same: never more than were accepted.
    package var delivered: Int { min(received, ended[.accepted] ?? 0) }

    /// Deliveries, ended or not.
    package var recipients: Int { ended.values.reduce(inFlight, +) }

    /// Puts a day together.
    package init(
        day: Int64, label: AnalyticsLabel?, ended: [LedgerOutcome: Int] = [:], inFlight: Int = 0, displayed: Int = 0,
        received: Int = 0
    ) {
        self.day = day
        self.label = label
        self.ended = ended
        self.inFlight = inFlight
        self.displayed = displayed
        self.received = received
    }

    /// The day of a time.
    package static func day(of time: Timestamp) -> Int64 {
        let (day, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        return rest < 0 ? day - 1 : day
    }
}
