import Delivery
import PushModel
import Store

extension FCMError {
    /// A message that the acceptor refused.
    init(_ refusal: SubmissionRefusal, project: Project) {
        switch refusal {
        case .invalid(let invalid):
            self.init(invalid)
        case .conflict:
            self.init(.idempotencyConflict)
        case .full(let limit, let retryAfter):
            self.init(.quotaExceeded, limit.text, reason: limit.reason)
            quotaSubject = limit.isOfProject ? "project:\(project.id)" : "gateway"
            retryAfterSeconds = Int(clamping: (retryAfter.wholeMilliseconds + 999) / 1000)
        case .diskLow(let retryAfter):
            self.init(
                .unavailable, "The disk of the gateway is nearly full (limits.freeBytes). Nothing was kept.",
                reason: .diskSpaceLow)
            retryAfterSeconds = Int(clamping: (retryAfter.wholeMilliseconds + 999) / 1000)
        case .stopping:
            self.init(.unavailable)
            cause = "The gateway is stopping."
        case .store(let error):
            self.init(error)
        }
    }
}

extension WaitingLimit {
    /// What a sender reads who met it: what there is too much of, and the limit's name.
    fileprivate var text: String {
        switch self {
        case .messages: "Too many messages are waiting to be delivered (limits.messages)."
        case .bytes: "The messages that are waiting to be delivered are too large together (limits.bytes)."
        case .projectMessages:
            "Too many messages of the project are waiting to be delivered (limits.projectMessages)."
        case .projectBytes:
            "The project's messages that are waiting to be delivered are too large together (limits.projectBytes)."
        }
    }

    fileprivate var reason: ErrorReason {
        switch self {
        case .messages: .tooManyMessages
        case .bytes: .tooManyBytes
        case .projectMessages: .tooManyProjectMessages
        case .projectBytes: .tooManyProjectBytes
        }
    }

    fileprivate var isOfProject: Bool {
        switch self {
        case .messages, .bytes: false
        case .projectMessages, .projectBytes: true
        }
    }
}
