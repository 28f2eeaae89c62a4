import HTTPTypes
import Hummingbird
import JSON
import PushModel

extension FCMError {
    /// The body: `{"error": {"code", "message", "status", "details"}}`, the FcmError detail first, since SDKs take
    /// the first detail of that type and Java's fails on an unknown `status`.
    var body: JSONValue { .object([.init("error", status)]) }

    /// The google.rpc.Status alone, as it stands in `error` and in the results of a batch.
    var status: JSONValue {
        var members: [JSONValue.Member] = [
            .init("code", .number(String(code.httpStatus))),
            .init("message", .string(message)),
            .init("status", .string(code.canonicalStatus)),
        ]
        members.append(.init("details", .array(details)))
        return .object(members)
    }

    private var details: [JSONValue] {
        var details: [JSONValue] = []
        if let errorCode = code.errorCode {
            details.append(
                Self.detail("google.firebase.fcm.v1.FcmError", [.init("errorCode", .string(errorCode))]))
        }
        if !violations.isEmpty {
            let fields = violations.map { violation in
                var members: [JSONValue.Member] = []
                if !violation.field.isEmpty { members.append(.init("field", .string(violation.field))) }
                members.append(.init("description", .string(violation.description)))
                return JSONValue.object(members)
            }
            details.append(Self.detail("google.rpc.BadRequest", [.init("fieldViolations", .array(fields))]))
        }
        if let quotaSubject {
            let violation = JSONValue.object([
                .init("subject", .string(quotaSubject)), .init("description", .string(message)),
            ])
            details.append(Self.detail("google.rpc.QuotaFailure", [.init("violations", .array([violation]))]))
        }
        if reason.isOfToken {
            details.append(
                Self.detail(
                    "google.rpc.ErrorInfo",
                    [.init("reason", .string(reason.rawValue)), .init("domain", .string("herald"))]))
        }
        if let retryAfterSeconds {
            let delay = durationText(milliseconds: Int64(max(1, retryAfterSeconds)) * 1000)
            details.append(Self.detail("google.rpc.RetryInfo", [.init("retryDelay", .string(delay))]))
        }
        details.append(Self.detail("herald.v1.ErrorInfo", causeMembers))
        return details
    }

    /// Our own detail, after FCM's: its SDKs pass over a type that they do not know.
    private var causeMembers: [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("reason", .string(reason.rawValue))]
        if let field = violations.first?.field, !field.isEmpty { members.append(.init("field", .string(field))) }
        if !metadata.isEmpty {
            let entries = metadata.sorted { $0.key < $1.key }
            members.append(.init("metadata", .object(entries.map { .init($0.key, .string($0.value)) })))
        }
        return members
    }

    private static func detail(_ type: String, _ members: [JSONValue.Member]) -> JSONValue {
        .object([.init("@type", .string("type.googleapis.com/" + type))] + members)
    }

    /// The body in a form, in JSON.
    func json(as form: ErrorForm) -> JSONValue {
        switch form {
        case .status: body
        case .bareMessage, .text: .object([.init("error", .string(message))])
        case .token: Self.tokenBody(tokenError, message)
        }
    }

    /// The body of a token endpoint's error, where `error` is a string (RFC 6749 §5.2).
    static func tokenBody(_ error: String, _ description: String) -> JSONValue {
        .object([.init("error", .string(error)), .init("error_description", .string(description))])
    }

    /// The error's name at a token endpoint; SDKs try the last two again.
    private var tokenError: String {
        switch code {
        case .unavailable: "temporarily_unavailable"
        case .internal: "server_error"
        default: "invalid_request"
        }
    }

    /// The answer in a form.
    func response(as form: ErrorForm) -> Response {
        let status = HTTPResponse.Status(code: code.httpStatus)
        var response =
            form == .text
            ? Response(text: message + "\n", status: status) : Response(json: json(as: form), status: status)
        if let retryAfterSeconds = retryAfterSeconds ?? code.retryAfterSeconds {
            response.headers[.retryAfter] = String(max(1, retryAfterSeconds))
        }
        // RFC 9110 §15.5.16: which coding would have been read.
        if code == .unsupportedEncoding { response.headers[.acceptEncoding] = "gzip" }
        if code == .unauthenticated {
            response.headers[.wwwAuthenticate] = "Bearer realm=\"herald\""
        }
        return response
    }
}

/// The form of an error answer: each API of Google's has its own.
enum ErrorForm: Hashable, Sendable {
    /// `{"error": {google.rpc.Status}}`.
    case status
    /// `{"error": "<message>"}`: the Instance ID API and device groups.
    case bareMessage
    /// The message in plain text: the legacy API. Where an answer must be JSON, as ``bareMessage``.
    case text
    /// `{"error": "<name>", "error_description": "<message>"}`: the token endpoint (RFC 6749 §5.2).
    case token
}

extension Response {
    /// An answer in plain text.
    init(text: String, status: HTTPResponse.Status) {
        self.init(
            status: status, headers: [.contentType: "text/plain; charset=UTF-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// An answer in JSON.
    init(json: JSONValue, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: "application/json; charset=UTF-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }
}
