import HTTPListener
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

    /// A store that could not do what it was asked.
    init(_ error: StoreError) {
        switch error.code {
        case .badCursor:
            self = .badRequest("page_token", "The page token is not one of this list's.", reason: .invalidPageToken)
        case .removed(let oldest):
            self.init(
                .removed, "Deliveries recorded before \(oldest.rfc3339) are not kept any more; export from then on.")
            metadata = ["oldestTime": oldest.rfc3339]
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

    /// Any error that a route ended with.
    init(any error: any Error) {
        switch error {
        case let error as FCMError: self = error
        case let error as StoreError: self.init(error)
        case let error as InvalidMessage: self.init(error)
        case let fault as RequestFault: self.init(fault)
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
