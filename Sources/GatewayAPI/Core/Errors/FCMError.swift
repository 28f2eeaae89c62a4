import HTTPTypes
import PushModel

/// An error answer of the gateway, in the shape of google.rpc.Status.
struct FCMError: Error, Sendable {
    /// Which row of the table it is.
    let code: Code
    /// A sentence for the caller: no tokens, no keys, no payloads.
    let message: String
    /// google.rpc.BadRequest: which fields are wrong.
    var violations: [FieldViolation] = []
    /// google.rpc.QuotaFailure: what is used up.
    var quotaSubject: String?
    /// `Retry-After` in whole seconds, otherwise the kind's own.
    var retryAfterSeconds: Int?
    /// What the operator should read in the log; never part of the answer.
    var cause: String?
    /// The precise cause, for programs.
    var reason: ErrorReason
    /// What belongs to the reason, by name: no secrets.
    var metadata: [String: String] = [:]

    /// An error of a kind, with the kind's usual text or another one, and its usual reason or a closer one.
    init(_ code: Code, _ message: String? = nil, reason: ErrorReason? = nil) {
        self.code = code
        self.message = message ?? code.message
        self.reason = reason ?? code.reason
    }

    /// A refused field by a rule of FCM's own.
    static func invalid(
        _ field: String, _ description: String, reason: ErrorReason? = nil
    ) -> FCMError {
        var error = FCMError(.invalidArgument, description, reason: reason)
        error.violations = [FieldViolation(field: field, description: description)]
        return error
    }

    /// An access token or JWT that does not work (any more). The usual reason is what tells clients to get a new one
    /// (fcm.md §1.7, pyfcm).
    static func unusableToken(_ message: String, reason: ErrorReason = .accessTokenExpired) -> FCMError {
        FCMError(.unauthenticated, message, reason: reason)
    }

    /// A refused field by a rule of the JSON front end or of a resource API (no FcmError detail).
    static func badRequest(
        _ field: String, _ description: String, reason: ErrorReason? = nil
    ) -> FCMError {
        var error = FCMError(.badRequest, description, reason: reason)
        error.violations = [FieldViolation(field: field, description: description)]
        return error
    }
}

extension FCMError {
    /// One row of the error table: everything that follows from the kind of an error (FCM's ErrorCode page and
    /// google.rpc.Code). `errorCode` is what goes into the FcmError detail; front-end errors have none.
    struct Code: Hashable, Sendable {
        /// FCM's own code.
        let errorCode: String?
        /// The HTTP status.
        let httpStatus: Int
        /// The name in google.rpc.Code; one of its 16, some clients refuse any other.
        let canonicalStatus: String
        /// The usual text.
        let message: String
        /// The usual cause.
        let reason: ErrorReason
        /// The usual `Retry-After` in seconds.
        var retryAfterSeconds: Int? { self == .unavailable ? 5 : nil }

        private init(
            _ errorCode: String?, _ httpStatus: Int, _ canonicalStatus: String, _ message: String,
            _ reason: ErrorReason
        ) {
            self.errorCode = errorCode
            self.httpStatus = httpStatus
            self.canonicalStatus = canonicalStatus
            self.message = message
            self.reason = reason
        }

        // FCM's own errors.

        /// The registration is unknown or ended.
        static let unregistered = Code(
            "UNREGISTERED", 404, "NOT_FOUND", "Requested entity was not found.", .registrationUnknown)
        /// The message breaks a rule.
        static let invalidArgument = Code(
            "INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "Request contains an invalid argument.", .invalidField)
        /// The key belongs to another project.
        static let senderIDMismatch = Code(
            "SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", "SenderId mismatch", .otherProject)
        /// The push service refused the gateway's credential, or there is none for the app.
        static let thirdPartyAuthError = Code(
            "THIRD_PARTY_AUTH_ERROR", 401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service",
            .apnsCredentialRefused)
        /// Too much is queued.
        static let quotaExceeded = Code(
            "QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", "Too many messages are waiting to be delivered.", .limitReached
        )
        /// Nothing was kept; come back later.
        static let unavailable = Code(
            "UNAVAILABLE", 503, "UNAVAILABLE", "The service is currently unavailable.", .gatewayUnavailable)
        /// An error of the gateway.
        static let `internal` = Code("INTERNAL", 500, "INTERNAL", "Internal error encountered.", .gatewayError)

        // Errors of the front end and of the resource APIs.

        /// Malformed JSON, an unknown name, a wrong type, a bad parameter.
        static let badRequest = Code(
            nil, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.", .invalidField)
        /// No credential, or none that works.
        static let unauthenticated = Code(
            nil, 401, "UNAUTHENTICATED",
            "Request is missing a credential. Expected 'Authorization: Bearer <API key or access token>', "
                + "'Authorization: key=<API key>' or 'X-Goog-Api-Key: <API key>'.", .missingCredential)
        /// The key may not do this.
        static let permissionDenied = Code(
            nil, 403, "PERMISSION_DENIED", "The caller does not have permission.", .roleNotAllowed)
        /// No such path, or no such resource.
        static let notFound = Code(nil, 404, "NOT_FOUND", "Requested entity was not found.", .unknownResource)
        /// The path has no such method.
        static let methodNotAllowed = Code(
            nil, 405, "UNIMPLEMENTED", "The method is not allowed for this path.", .methodNotAllowed)
        /// The resource is there already.
        static let alreadyExists = Code(nil, 409, "ALREADY_EXISTS", "Requested entity already exists.", .alreadyExists)
        /// The idempotency key stands for another request.
        static let idempotencyConflict = Code(
            nil, 409, "ALREADY_EXISTS",
            "The Idempotency-Key was used for a request with another body. Nothing was sent; use a new key.",
            .idempotencyKeyReused)
        /// The resource's state does not allow it.
        static let failedPrecondition = Code(
            nil, 400, "FAILED_PRECONDITION", "The state of the resource does not allow this.", .messageNotActive)
        /// What is asked for lies before or after what there is.
        static let outOfRange = Code(
            nil, 400, "OUT_OF_RANGE", "The request is out of the range of what is kept.", .outOfRange)
        /// What is asked for was there, and retention took it.
        static let removed = Code(
            nil, 410, "OUT_OF_RANGE", "What is asked for is not kept any more.", .exportRemoved)
        /// The request did not come to its end.
        static let requestTimeout = Code(
            nil, 408, "DEADLINE_EXCEEDED", "The request was not complete in time.", .requestTimeout)
        /// The body is over the limit.
        static let bodyTooLarge = Code(
            nil, 413, "INVALID_ARGUMENT", "Request payload size exceeds the limit.", .bodyTooLarge)
        /// The body is encoded in a way that is not read.
        static let unsupportedEncoding = Code(
            nil, 415, "INVALID_ARGUMENT", "Content-Encoding must be gzip, identity or absent.", .unsupportedEncoding)
        /// The header is over the limit.
        static let headerTooLarge = Code(
            nil, 431, "INVALID_ARGUMENT", "The request's header fields are too large together, or too many.",
            .headerTooLarge)
        /// A limit of the resource is reached.
        static let resourceExhausted = Code(nil, 429, "RESOURCE_EXHAUSTED", "A limit is reached.", .limitReached)
    }
}
