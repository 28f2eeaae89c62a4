/// How many registrations joined and left a topic on a day, by when the store was told: an import counts as of its day.
package struct TopicDay: Hashable, Sendable {
    /// Days since 1970-01-01 in UTC.
    package var day: Int64
    /// New subscriptions.
    package var joined: Int
    /// Subscriptions that ended, also with their registrations.
    package var left: Int

    /// Puts a day together.
    package init(day: Int64, joined: Int, left: Int) {
        self.day = day
        self.joined = joined
        self.left = left
    }
}
