package import PushModel
import Synchronization

/// What is known of a request while it is answered: where its span belongs, and which traced messages came of it.
package final class RequestTrace: Sendable {
    /// The caller's span; `nil`: it named none.
    package let parent: SpanContext?
    /// The span of the request.
    package let context: SpanContext
    /// When it began.
    let start: TraceTime
    private let noted = Mutex<[MessageID]>([])

    init(parent: SpanContext?, start: TraceTime) {
        var generator = SystemRandomNumberGenerator()
        self.parent = parent
        self.start = start
        context =
            parent?.child(using: &generator)
            ?? SpanContext(traceID: .random(using: &generator), spanID: .random(using: &generator), isSampled: true)
    }

    /// Notes a traced message that the request made; beyond ``StepTracer/linkLimit`` none.
    package func note(_ message: MessageID) {
        noted.withLock { noted in
            if noted.count < StepTracer.linkLimit { noted.append(message) }
        }
    }

    /// The messages that were noted.
    var messages: [MessageID] { noted.withLock { $0 } }
}
