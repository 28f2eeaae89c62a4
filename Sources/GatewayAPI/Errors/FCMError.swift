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

    /// An error of a kind, with the kind's usual text or another one.
    init(_ code: Code, _ message: String? = nil) {
        self.code = code
        self.message = message ?? code.message
    }

    /// A refused field by a rule of FCM's own.
    static func invalid(_ field: String, _ description: String) -> FCMError {
        var error = FCMError(.invalidArgument, description)
        error.violations = [FieldViolation(field: field, description: description)]
        return error
    }

    /// A refused field by a rule of the JSON front end or of a resource API (no FcmError detail).
    static func badRequest(_ field: String, _ description: String) -> FCMError {
        var error = FCMError(.badRequest, description)
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
        /// The usual `Retry-After` in seconds.
        var retryAfterSeconds: Int? { self == .unavailable ? 5 : nil }

        private init(_ errorCode: String?, _ httpStatus: Int, _ canonicalStatus: String, _ message: String) {
            self.errorCode = errorCode
            self.httpStatus = httpStatus
            self.canonicalStatus = canonicalStatus
            self.message = message
        }

        // FCM's own errors.

        /// The registration is unknown or ended.
        static let unregistered = Code("UNREGISTERED", 404, "NOT_FOUND", "Requested entity was not found.")
        /// The message breaks a rule.
        static let invalidArgument = Code(
            "INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        /// The key belongs to another project.
        static let senderIDMismatch = Code("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", "SenderId mismatch")
        /// Too much is queued.
        static let quotaExceeded = Code(
            "QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", "Too many messages are waiting to be delivered.")
        /// Nothing was kept; come back later.
        static let unavailable = Code(
            "UNAVAILABLE", 503, "UNAVAILABLE", "The service is currently unavailable.")
        /// An error of the gateway.
        static let `internal` = Code("INTERNAL", 500, "INTERNAL", "Internal error encountered.")

        // Errors of the front end and of the resource APIs.

        /// Malformed JSON, an unknown name, a wrong type, a bad parameter.
        static let badRequest = Code(
            nil, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        /// No key, or none that is known.
        static let unauthenticated = Code(
            nil, 401, "UNAUTHENTICATED",
            "Request is missing a valid API key. Expected 'Authorization: Bearer <key>', 'Authorization: key=<key>' "
                + "or 'X-Goog-Api-Key: <key>'.")
        /// The key may not do this.
        static let permissionDenied = Code(
            nil, 403, "PERMISSION_DENIED", "The caller does not have permission.")
        /// No such path, or no such resource.
        static let notFound = Code(nil, 404, "NOT_FOUND", "Requested entity was not found.")
        /// The path has no such method.
        static let methodNotAllowed = Code(
            nil, 405, "UNIMPLEMENTED", "The method is not allowed for this path.")
        /// The resource is there already.
        static let alreadyExists = Code(nil, 409, "ALREADY_EXISTS", "Requested entity already exists.")
        /// The idempotency key stands for another request.
        static let idempotencyConflict = Code(
            nil, 409, "ALREADY_EXISTS",
            "The Idempotency-Key was used for a request with another body. Nothing was sent; use a new key.")
        /// The resource's state does not allow it.
        static let failedPrecondition = Code(
            nil, 400, "FAILED_PRECONDITION", "The state of the resource does not allow this.")
        /// The request did not come to its end.
        static let requestTimeout = Code(
            nil, 408, "DEADLINE_EXCEEDED", "The request was not complete in time.")
        /// The body is over the limit.
        static let bodyTooLarge = Code(
            nil, 413, "INVALID_ARGUMENT", "Request payload size exceeds the limit.")
        /// A limit of the resource is reached.
        static let resourceExhausted = Code(nil, 429, "RESOURCE_EXHAUSTED", "A limit is reached.")
    }
}
