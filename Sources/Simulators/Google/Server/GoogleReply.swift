/// What a simulated Google answers to one request.
struct GoogleReply: Sendable {
    /// How it ends.
    enum End: Hashable, Sendable {
        case answer, silence, reset
    }

    var status: Int
    var contentType = "application/json; charset=UTF-8"
    var body: String
    var retryAfterSeconds: Int?
    var delayMilliseconds = 0
    var end = End.answer
    /// The error code, for the recording.
    var code: String?
    /// The message's name, for the recording.
    var name: String?

    init(status: Int, body: String, code: String? = nil) {
        self.status = status
        self.body = body
        self.code = code
    }

    /// A page, as Google's front end answers.
    static func page(_ status: Int, _ title: String) -> GoogleReply {
        var reply = GoogleReply(
            status: status,
            body: "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status) (\(title))!!1</title>\n"
                + "<p><b>\(status).</b> <ins>That’s an error.</ins>\n", code: title)
        reply.contentType = "text/html; charset=UTF-8"
        return reply
    }
}

/// A google.rpc.Status in JSON (fcm.md §1.5).
struct GoogleStatus {
    /// Part of an error's details.
    enum Detail {
        /// FCM's own code.
        case fcm(String)
        /// The fields that are wrong.
        case fields([(field: String, description: String)])
        /// Whose quota.
        case quota(subject: String, description: String)
        /// The reason of another service of Google's.
        case info(reason: String)

        var json: String {
            let type = "\"@type\": \"type.googleapis.com/"
            switch self {
            case .fcm(let code): return "{\(type)google.firebase.fcm.v1.FcmError\", \"errorCode\": \(jsonString(code))}"
            case .fields(let fields):
                let list = fields.map {
                    "{\"field\": \(jsonString($0.field)), \"description\": \(jsonString($0.description))}"
                }
                return "{\(type)google.rpc.BadRequest\", \"fieldViolations\": [\(list.joined(separator: ", "))]}"
            case .quota(let subject, let description):
                return "{\(type)google.rpc.QuotaFailure\", \"violations\": [{\"subject\": \(jsonString(subject)), "
                    + "\"description\": \(jsonString(description))}]}"
            case .info(let reason):
                return "{\(type)google.rpc.ErrorInfo\", \"reason\": \(jsonString(reason)), "
                    + "\"domain\": \"googleapis.com\", \"metadata\": {\"service\": \"fcm.googleapis.com\"}}"
            }
        }
    }

    let code: Int
    let status: String
    let message: String
    var details: [Detail] = []

    var reply: GoogleReply {
        let list = details.map(\.json).joined(separator: ", ")
        var fcm: String?
        for case .fcm(let code) in details where fcm == nil { fcm = code }
        return GoogleReply(
            status: code,
            body: "{\"error\": {\"code\": \(code), \"message\": \(jsonString(message)), \"status\": \"\(status)\""
                + (list.isEmpty ? "" : ", \"details\": [\(list)]") + "}}\n", code: fcm ?? status)
    }

    /// A message that FCM's own rules refuse.
    static func invalid(_ message: String, field: String) -> GoogleStatus {
        GoogleStatus(
            code: 400, status: "INVALID_ARGUMENT", message: message,
            details: [.fcm("INVALID_ARGUMENT"), .fields([(field, message)])])
    }

    /// Who asks is not known.
    static let unauthenticated = GoogleStatus(
        code: 401, status: "UNAUTHENTICATED",
        message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
            + "valid authentication credential. See "
            + "https://developers.google.com/identity/sign-in/web/devconsole-project.",
        details: [.info(reason: "ACCESS_TOKEN_EXPIRED")])

    /// There is no such project, or none of FCM's.
    static let notFound = GoogleStatus(code: 404, status: "NOT_FOUND", message: "Requested entity was not found.")

    /// The account has no right to send.
    static let permissionDenied = GoogleStatus(
        code: 403, status: "PERMISSION_DENIED",
        message: "Permission 'cloudmessaging.messages.create' denied on resource (or it may not exist).",
        details: [.info(reason: "IAM_PERMISSION_DENIED")])
}

extension GoogleFault {
    /// The answer to a message.
    var reply: GoogleReply {
        switch self {
        case .unregistered: fcm(404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found.")
        case .invalidToken:
            GoogleStatus.invalid(
                "The registration token is not a valid FCM registration token", field: "message.token"
            ).reply
        case .invalidMessage: GoogleStatus.invalid("Invalid data payload key: from", field: "message.data").reply
        case .mismatch: fcm(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch")
        case .thirdParty:
            fcm(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service")
        case .unauthenticated: GoogleStatus.unauthenticated.reply
        case .permissionDenied: GoogleStatus.permissionDenied.reply
        case .serviceDisabled:
            GoogleStatus(
                code: 403, status: "PERMISSION_DENIED",
                message: "Firebase Cloud Messaging API has not been used in project before or it is disabled.",
                details: [.info(reason: "SERVICE_DISABLED")]
            ).reply
        case .projectMissing: GoogleStatus.notFound.reply
        case .projectQuota: exceeded("project:1", "Quota exceeded for requests per minute of the project.")
        case .deviceQuota: exceeded("device:1", "Message rate exceeded for the device.")
        case .topicQuota: exceeded("topic:news", "Topic quota exceeded.")
        case .quota: fcm(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Quota exceeded.")
        case .internal: fcm(500, "INTERNAL", "INTERNAL", "Internal error encountered.")
        case .unavailable: fcm(503, "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable.")
        case .badGateway: .page(502, "Server Error")
        case .page: .page(404, "Not Found")
        case .silent, .reset: unanswered
        case .invalidGrant: GoogleTokenEndpoint.refusal("invalid_grant", "Invalid JWT Signature.")
        case .wrongClock: GoogleTokenEndpoint.refusal("invalid_grant", GoogleTokenEndpoint.timeText)
        }
    }

    private func fcm(_ code: Int, _ status: String, _ error: String, _ message: String) -> GoogleReply {
        GoogleStatus(code: code, status: status, message: message, details: [.fcm(error)]).reply
    }

    private func exceeded(_ subject: String, _ description: String) -> GoogleReply {
        GoogleStatus(
            code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota exceeded.",
            details: [.fcm("QUOTA_EXCEEDED"), .quota(subject: subject, description: description)]
        ).reply
    }

    private var unanswered: GoogleReply {
        var reply = GoogleReply(status: 0, body: "", code: rawValue)
        reply.end = self == .reset ? .reset : .silence
        return reply
    }
}
