/// Decides which traces are recorded, in OpenTelemetry's words (`OTEL_TRACES_SAMPLER`).
package struct TraceSampler: Hashable, Sendable {
    /// The share of traces that begin here and are recorded, 0 to 1.
    package var share: Double
    /// Whether the decision of a caller that sends a `traceparent` holds.
    package var followsParent: Bool

    /// Puts a sampler together.
    package init(share: Double, followsParent: Bool = true) {
        self.share = share
        self.followsParent = followsParent
    }

    /// Whether a message is recorded, or a request that brings none.
    ///
    /// - Parameters:
    ///   - parent: the caller's span; `nil`: the trace begins here.
    ///   - random: a number in `0 ..< 1`.
    package func samples(_ parent: SpanContext?, random: @autoclosure () -> Double) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        return share >= 1 || (share > 0 && random() < share)
    }
}
