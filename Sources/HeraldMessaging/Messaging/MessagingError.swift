public import Foundation

// Firebase's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of ``MessagingError`` as an `NSError`: Firebase's.
public let MessagingErrorDomain = "com.google.fcm"

/// Why something came to nothing. As an `NSError` it has the domain and the codes of Firebase's SDK.
public struct MessagingError: Error, Sendable {
    /// What kind of failure it is.
    public enum Code: Int, Hashable, Sendable {
        /// Another one.
        case unknown = 0
        /// The gateway does not know the key, or not any more.
        case authentication = 1
        /// The key may not do this.
        case noAccess = 2
        /// There was no answer in time.
        case timeout = 3
        /// The gateway was not reached.
        case network = 4
        /// The same is under way.
        case operationInProgress = 5
        /// Something about the request is wrong.
        case invalidRequest = 7
        /// What was given as a topic's name is none.
        case invalidTopicName = 8
    }

    /// Another one.
    public static var unknown: Code { .unknown }
    /// The gateway does not know the key, or not any more.
    public static var authentication: Code { .authentication }
    /// The key may not do this.
    public static var noAccess: Code { .noAccess }
    /// There was no answer in time.
    public static var timeout: Code { .timeout }
    /// The gateway was not reached.
    public static var network: Code { .network }
    /// The same is under way.
    public static var operationInProgress: Code { .operationInProgress }
    /// Something about the request is wrong.
    public static var invalidRequest: Code { .invalidRequest }
    /// What was given as a topic's name is none.
    public static var invalidTopicName: Code { .invalidTopicName }

    /// The kind.
    public let code: Code
    /// What happened, in the gateway's words if it gave any.
    public let message: String
    /// The gateway's precise word, as `INVALID_CREDENTIAL`; the article Errors has all of them.
    public let reason: String?
    /// The error of the transport or of the storage.
    public let underlying: (any Error)?

    init(_ code: Code, _ message: String, reason: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.reason = reason
        self.underlying = underlying
    }

    static var notConfigured: MessagingError {
        MessagingError(
            .invalidRequest,
            "Call HeraldApp.configure(), with a Herald-Info.plist in the app, or HeraldApp.configure(options:), first.")
    }

    static var invalidTopic: MessagingError {
        MessagingError(.invalidTopicName, "A topic's name must match [a-zA-Z0-9-_.~%]{1,900}.")
    }
}

extension MessagingError: Hashable {
    /// By kind, text and reason.
    public static func == (lhs: MessagingError, rhs: MessagingError) -> Bool {
        lhs.code == rhs.code && lhs.message == rhs.message && lhs.reason == rhs.reason
    }

    /// By kind, text and reason.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(reason)
    }
}

extension MessagingError: LocalizedError, CustomNSError {
    /// The message.
    public var errorDescription: String? { message }

    /// The message.
    public var failureReason: String? { message }

    /// Firebase's.
    public static var errorDomain: String { MessagingErrorDomain }

    /// The code's number.
    public var errorCode: Int { code.rawValue }

    /// The message, and the gateway's reason as `reason`.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message, NSLocalizedFailureReasonErrorKey: message]
        info["reason"] = reason
        info[NSUnderlyingErrorKey] = underlying
        return info
    }
}
