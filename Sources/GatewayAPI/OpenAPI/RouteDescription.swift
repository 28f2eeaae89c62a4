import HTTPListener
import HTTPTypes
import JSON
import PushModel
import Store

/// One operation of the document: what its entry says and what follows from its route.
struct RouteDescription {
    private let route: Route
    private let operation: OpenAPI.Operation
    private let tag: String

    init(_ route: Route, _ operation: OpenAPI.Operation, tag: String) {
        (self.route, self.operation, self.tag) = (route, operation, tag)
    }

    /// The operation object.
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("operationId", .string(operation.id)), .init("tags", .array([.string(tag)])),
            .init("summary", .string(operation.summary)),
        ]
        if let access { members.append(.init("description", .string("For the role \(Self.words(access.roles))."))) }
        let parameters = captures + (operation.parameters + clientParameters).map(Self.parameter)
        if !parameters.isEmpty { members.append(.init("parameters", .array(parameters))) }
        if let body = operation.body {
            members.append(
                .init(
                    "requestBody",
                    .object([.init("required", .bool(body.isRequired)), .init("content", Self.content(body))])))
        }
        members.append(.init("responses", responses))
        members.append(.init("security", security))
        return .object(members)
    }

    private var access: Access? {
        switch route.scope {
        case .open: nil
        case .project(let access, _), .keyProject(let access, _): access
        }
    }

    private var security: JSONValue {
        guard access != nil else { return .array([]) }
        let schemes = ["bearer", "key", "apiKey"] + (route.takesQueryKey ? ["queryKey"] : [])
        return .array(schemes.map { .object([.init($0, .array([]))]) })
    }

    private static func words(_ roles: [Role]) -> String { roles.map(\.rawValue).joined(separator: " or ") }

    // Parameters

    private var captures: [JSONValue] {
        route.path.matches(of: /\{([a-zA-Z]+)\}/).map { match in
            let name = String(match.1)
            return .object([
                .init("name", .string(name)), .init("in", .string("path")), .init("required", .bool(true)),
                .init("description", .string(Self.captureTexts[name] ?? "")),
                .init("schema", OpenAPI.Schema.string.with("minLength", .integer(1)).json),
            ])
        }
    }

    /// What each capture of the route table holds.
    static let captureTexts = [
        "project": "The project's id or number.", "message": "The message's id.",
        "installation": "The installation id.",
        "app": "The app: its id, or `platform:id` for one of several with that id.",
        "registration": "The registration's installation id or token.", "topic": "The topic's name.",
        "channel": "The channel's name.", "webhook": "The webhook's id.", "referral": "The referral's id.",
        "user": "The user's id.",
        "link": "The short link, percent-encoded as one segment: `https%3A%2F%2Fgo.example.com%2FaB3x`.",
    ]

    /// What a client proves itself with; an installation is managed with its refresh token instead.
    private var clientParameters: [OpenAPI.Parameter] {
        guard let access, access.roles.contains(.client), access != .install, !route.takesQueryKey else { return [] }
        return [OpenAPI.installationAuth]
    }

    private static func parameter(_ parameter: OpenAPI.Parameter) -> JSONValue {
        .object([
            .init("name", .string(parameter.name)), .init("in", .string(parameter.place.rawValue)),
            .init("required", .bool(parameter.isRequired)), .init("description", .string(parameter.summary)),
            .init("schema", parameter.schema.json),
        ])
    }

    private static func content(_ content: OpenAPI.Content) -> JSONValue {
        .object(content.types.map { .init($0.type, .object([.init("schema", $0.schema.json)])) })
    }

    // Answers

    private var responses: JSONValue {
        let errors = self.errors.subtracting(operation.answers.keys)
        let statuses = operation.answers.keys.sorted() + errors.sorted()
        return .object(
            statuses.map { status in
                .init(String(status), Self.response(operation.answers[status] ?? error(status)))
            })
    }

    /// The statuses of errors that a request of this kind can be answered.
    private var errors: Set<Int> {
        // What a header, a key, a project, the store and a mistake of ours can bring about.
        var errors = operation.errors.union([400, 431, 500])
        if access != nil { errors.formUnion([401, 403, 429, 503]) }
        if operation.body != nil { errors.formUnion([408, 413, 415]) }
        return errors
    }

    private func error(_ status: Int) -> OpenAPI.Answer {
        var answer = OpenAPI.Answer(summary: Self.errorTexts[status] ?? "", content: operation.errorBody)
        if [429, 503].contains(status) {
            answer.fields.append((.retryAfter, .integer, "Seconds to wait before the request is sent again."))
        }
        return answer
    }

    /// What each status of an error means.
    static let errorTexts = [
        400: "The request breaks a rule; `details` names the fields.",
        401: "The key is missing, unknown or revoked.", 403: "The key may not do this.",
        404: "No such resource; for a target: the registration is unknown or has ended.",
        408: "The request was not complete in time.", 409: "It is there already.",
        410: "Some of it is not kept any more; `details` has the oldest time.",
        413: "The body is over the limit.", 415: "The body's Content-Encoding is not gzip.",
        429: "A limit is reached.", 431: "The header is over the limit.",
        500: "An error of the gateway. Nothing was kept.",
        503: "The gateway can't take it now. Nothing was kept; send it again.",
    ]

    private static func response(_ answer: OpenAPI.Answer) -> JSONValue {
        let fields =
            [(HTTPField.Name.requestID, OpenAPI.Schema.string, "What the request is called in the log.")]
            + answer.fields
        let headers = fields.map { name, schema, text in
            JSONValue.Member(
                name.rawName, .object([.init("description", .string(text)), .init("schema", schema.json)]))
        }
        return .object([
            .init("description", .string(answer.summary)), .init("headers", .object(headers)),
            .init("content", content(answer.content)),
        ])
    }
}
