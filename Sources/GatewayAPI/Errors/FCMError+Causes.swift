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
            invalid.violations.map(\.description).joined(separator: "\n"))
        violations = invalid.violations
    }

    /// A message that the acceptor refused.
    init(_ refusal: MessageAcceptor.Refusal, project: Project) {
        switch refusal {
        case .invalid(let invalid):
            self.init(invalid)
        case .full(let retryAfter):
            self.init(.quotaExceeded)
            quotaSubject = "project:\(project.id)"
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
            self = .badRequest("page_token", "The page token is not one of this list's.")
        case .tooManyTopics:
            self = .tooManyTopics
        case .unavailable, .inUse, .newerSchema, .failed:
            self.init(.unavailable)
            cause = error.message
        }
    }

    /// A registration that has all the topics it may have.
    static var tooManyTopics: FCMError {
        var error = FCMError(.resourceExhausted, "The registration is subscribed to 2000 topics, the most it may be.")
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
            self.init(.badRequest, "The connection was closed.")
            cause = "\(type(of: error))"
        default:
            self.init(.internal)
            // Of an unknown error only the type is known to hold no secret.
            cause = "\(type(of: error))"
        }
    }
}
