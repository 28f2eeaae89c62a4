public import Foundation

/// Why a call came to nothing. As an `NSError` it has the domain and the keys of Firebase's SDK.
public struct DynamicLinksError: Error, Sendable {
    /// What kind of failure it is.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// Its name.
        public let rawValue: String

        /// Makes a code of its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// ``DynamicLinks/configure(options:transport:)`` was not called, and the Info.plist says nothing.
        public static let notConfigured = Code(rawValue: "notConfigured")
        /// No long link could be made, or it is none.
        public static let invalidLink = Code(rawValue: "invalidLink")
        /// The gateway did not answer.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The answer was not what the API promises.
        public static let unreadableAnswer = Code(rawValue: "unreadableAnswer")
        /// The gateway refused; ``DynamicLinksError/remoteStatus`` says how.
        public static let refused = Code(rawValue: "refused")
    }

    /// The kind.
    public let code: Code
    /// What happened, in the gateway's words if it gave any.
    public let message: String
    /// The gateway's status, as `INVALID_ARGUMENT`.
    public let remoteStatus: String?
    /// The gateway's code, as 400.
    public let remoteErrorCode: Int?
    /// The error of the transport.
    public let underlying: (any Error)?

    init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
        remoteStatus = nil
        remoteErrorCode = nil
    }

    /// Reads the error envelope of an answer, `{"error": {"code", "message", "status"}}`.
    init(refusal answer: JSONObject?) {
        let error = answer?.object("error")
        code = error == nil ? .unreadableAnswer : .refused
        message = error?.text("message") ?? "The gateway's answer has neither a result nor an error."
        remoteStatus = error?.text("status")
        remoteErrorCode = error?.number("code")
        underlying = nil
    }
}

extension DynamicLinksError: LocalizedError, CustomNSError {
    /// The message.
    public var errorDescription: String? { message }

    /// The message.
    public var failureReason: String? { message }

    /// Firebase's.
    public static var errorDomain: String { "com.firebase.durabledeeplink" }

    /// 0, as Firebase's SDK has it for all.
    public var errorCode: Int { 0 }

    /// The message, and the gateway's status and code as `remoteStatus` and `remoteErrorCode`.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message, NSLocalizedFailureReasonErrorKey: message]
        info["remoteStatus"] = remoteStatus
        info["remoteErrorCode"] = remoteErrorCode
        info[NSUnderlyingErrorKey] = underlying
        return info
    }
}
