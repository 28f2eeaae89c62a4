import Delivery
import Hummingbird
import NIOCore
import PushModel
import Store

extension FCMError {
    /// A message that breaks a rule.
    init(_ invalid: InvalidMessage) {
        self.init(
            invalid.isFrontEnd ? .badRequest : .invalidArgument,
            invalid.violations.map(\.description).joined(separator: "\n"),
            reason: invalid.violations.first.map(ErrorReason.init))
        violations = invalid.violations
    }

    /// A message that the acceptor refused.
    init(_ refusal: MessageAcceptor.Refusal, project: Project) {
        switch refusal {
        case .invalid(let invalid):
            self.init(invalid)
        case .conflict:
            self.init(.idempotencyConflict)
        case .full(let limit, let retryAfter):
            self.init(.quotaExceeded, limit.text, reason: limit.reason)
            quotaSubject = limit.isOfProject ? "project:\(project.id)" : "gateway"
            retryAfterSeconds = Int(clamping: (retryAfter.wholeMilliseconds + 999) / 1000)
        case .stopping:
            self.init(.unavailable)
            cause = "The gateway is stopping."
        case .store(let error):
            self.init(error)
        }
    }

    /// A store that could not do what it was asked.
    init(_ error: StoreError) {
        switch error.code {
        case .badCursor:
            self = .badRequest("page_token", "The page token is not one of this list's.", reason: .invalidPageToken)
        case .tooManyTopics:
            self = .tooManyTopics
        case .busy:
            self.init(
                .quotaExceeded, "Too many requests wait for the store. Nothing was kept; send it again later.",
                reason: .storeBusy)
            quotaSubject = "gateway"
            retryAfterSeconds = 5
            cause = error.message
        case .unavailable, .inUse, .newerSchema, .failed, .fenced:
            self.init(.unavailable, reason: .storeUnavailable)
            cause = error.message
        }
    }

    /// A JWT that proves nobody.
    init(_ problem: Assertion.Problem) {
        if case .store(let error) = problem {
            self.init(error)
        } else {
            self = .unusableToken(problem.text, reason: problem.reason)
        }
    }

    /// A registration that has all the topics it may have.
    static var tooManyTopics: FCMError {
        var error = FCMError(
            .resourceExhausted,
            "The registration is subscribed to \(Topic.limitPerRegistration) topics, the most it may be.",
            reason: .tooManyTopics)
        error.quotaSubject = "topics per registration"
        return error
    }

    /// Any error that a route ended with.
    init(any error: any Error) {
        switch error {
        case let error as FCMError: self = error
        case let error as StoreError: self.init(error)
        case let error as InvalidMessage: self.init(error)
        case is CancellationError, is ChannelError, is IOError:
            // The caller hung up, or its connection was closed: nothing of the gateway failed.
            self.init(.badRequest, "The connection was closed.", reason: .incompleteRequest)
            cause = "\(type(of: error))"
        default:
            self.init(.internal)
            // Of an unknown error only the type is known to hold no secret.
            cause = "\(type(of: error))"
        }
    }
}

extension ErrorReason {
    /// Why a field is refused.
    fileprivate init(_ violation: FieldViolation) {
        switch violation.cause {
        case .unknownField: self = .unknownField
        case .wrongType: self = .wrongType
        case .payloadTooLarge: self = .payloadTooLarge
        case nil: self.init(field: violation.field)
        }
    }

    private init(field: String) {
        switch field {
        case "message.fid": self = .malformedToken
        case "message.topic": self = .malformedTopic
        case "message.condition": self = .malformedCondition
        case _ where field.hasPrefix("message.data["): self = .invalidDataKey
        case _ where field.hasPrefix("message.apns.headers."): self = .invalidHeader
        default: self = .invalidField
        }
    }
}

extension MessageAcceptor.WaitingLimit {
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
