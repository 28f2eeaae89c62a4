import Traces
import Tracing

/// A span that has ended, on its way to the collector.
struct FinishedSpan: Sendable {
    /// A span that this one leads to.
    struct Link: Sendable {
        var context: SpanContext
        var attributes: SpanAttributes
    }

    /// What identifies it.
    var context: SpanContext
    /// Its parent in the same trace; `nil`: it has none.
    var parent: SpanID?
    /// What was done.
    var name: String
    /// Its role.
    var kind: SpanKind
    /// Nanoseconds since 1970.
    var start: UInt64
    /// The same.
    var end: UInt64 = 0
    /// What is known of it.
    var attributes: SpanAttributes = [:]
    /// What happened meanwhile.
    var events: [SpanEvent] = []
    /// Where it leads to.
    var links: [Link] = []
    /// How it ended; `nil`: nothing is said.
    var status: SpanStatus?
}
