package import PushModel
import Synchronization

/// What is known of a request while it is answered: where its span belongs, and which traced messages came of it.
package final class RequestTrace: Sendable {
    private struct State {
        var context: SpanContext?
        var messages: [MessageID] = []
    }

    /// The caller's span; `nil`: it named none.
    package let parent: SpanContext?
    /// When it began.
    let start: TraceTime
    private let state = Mutex(State())

    init(parent: SpanContext?, start: TraceTime) {
        self.parent = parent
        self.start = start
    }

    /// The span of the request. Made when it is asked for: most requests are not traced, and chance takes a system call.
    package var context: SpanContext {
        state.withLock { state in
            if let context = state.context { return context }
            var generator = SystemRandomNumberGenerator()
            var context =
                parent?.child(using: &generator)
                ?? SpanContext(
                    traceID: .random(using: &generator), spanID: .random(using: &generator), isSampled: true)
            // It is asked for where it is recorded, whatever the caller said.
            context.isSampled = true
            state.context = context
            return context
        }
    }

    /// Notes a traced message that the request made; beyond ``StepTracer/linkLimit`` none.
    package func note(_ message: MessageID) {
        state.withLock { state in
            if state.messages.count < StepTracer.linkLimit { state.messages.append(message) }
        }
    }

    /// The messages that were noted.
    var messages: [MessageID] { state.withLock { $0.messages } }
}
