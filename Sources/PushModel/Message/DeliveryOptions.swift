/// How a message is to be delivered: the `delivery` object beside `message` in a send request.
package struct DeliveryOptions: Hashable, Sendable {
    /// The most pushes a second (`rate`), 1 or more; `nil`: as fast as possible.
    package var rate: Int?
    /// When its fan-out is to be through (`finishBy`): pushes are spread over the time until then. Not together with
    /// ``rate``.
    package var finishBy: Timestamp?
    /// Whether an alert without a collapse id gets the message's id as one (`collapseRepeats`, default true), so that
    /// a repeat after a crash replaces the first on the screen.
    package var collapsesRepeats: Bool

    /// Puts options together; the defaults are those of a request without `delivery`.
    package init(rate: Int? = nil, finishBy: Timestamp? = nil, collapsesRepeats: Bool = true) {
        self.rate = rate
        self.finishBy = finishBy
        self.collapsesRepeats = collapsesRepeats
    }
}
