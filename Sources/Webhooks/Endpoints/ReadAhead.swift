/// What was read of an endpoint's events while a delivery was under way.
struct ReadAhead: Sendable {
    /// Where reading goes on.
    let reader: EndpointReader
    /// The delivery that follows; `nil`: none was found yet.
    let delivery: WebhookDelivery?

    /// Reads one step on with a copy of a reader. `nil`: nothing was to be read, or nothing that was is of use: what went
    /// wrong shows when it is read again, and a batch that time closes is closed when it is its turn.
    init?(_ reader: EndpointReader?, _ services: WebhookServices) async {
        guard var reader else { return nil }
        let start = ContinuousClock.now
        // An error is the next reading's.
        let finding = try? await reader.next(at: services.wallTime())
        services.budget.spend(ContinuousClock.now - start, behind: reader.lag)
        switch finding {
        case .delivery(let next) where !next.isClosedByTime: delivery = next
        case .scanned: delivery = nil
        case .delivery, .nothing, .replayIsOver, nil: return nil
        }
        self.reader = reader
    }
}
