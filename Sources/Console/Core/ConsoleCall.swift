import HTTPTypes
import HummingbirdCore
import JSON
import NIOCore
import PushModel
import Store

/// A request of an operator on a project in which they have a role.
struct ConsoleCall: Sendable {
    /// The request.
    let visit: Visit
    /// What the path captures.
    let captures: [String: String]
    /// The session.
    let signedIn: SignedIn
    /// The project.
    let project: Project
    /// The operator's role in it.
    let role: OperatorRole
    /// What the console stands on.
    let services: ConsoleServices
    /// Where the console is, for the browser.
    let base: String
    /// Where the console is on the listener.
    let consolePath: String
    /// Sends requests through the API.
    let calls: ConsoleServices.Calls
    /// Ends and begins sessions.
    let keeper: SessionKeeper

    /// The store.
    var store: any ConsoleStore { services.store }

    /// The time now.
    var now: Timestamp { services.wallTime() }

    /// The path of the project's pages.
    var root: String { "\(base)/p/\(project.id)" }

    /// A capture of the path.
    func capture(_ name: String) -> String { captures[name] ?? "" }

    /// The operator, as the API and audit entries see them.
    var use: OperatorUse {
        OperatorUse(name: signedIn.owner.name, project: project.id, role: role, address: visit.address)
    }

    /// Appends to the audit log.
    func audit(_ action: AuditAction, _ subject: String, _ details: [String: String] = [:]) async throws {
        try await store.record(
            AuditEntry(
                time: now, project: project.id, action: action, subject: subject, details: details,
                credential: use.credential))
    }

    /// What a list of the store has; of a cursor that no page had the operator is told.
    func list<Value>(_ read: () async throws(StoreError) -> Value) async throws -> Value {
        do throws(StoreError) {
            return try await read()
        } catch {
            guard error.code == .badCursor else { throw error }
            throw ConsoleError(.badRequest, "This page does not exist", "Begin at the first page of the list.")
        }
    }

    /// Whether the operator proved lately who they are.
    var isProven: Bool { keeper.isProven(signedIn) }
}

// MARK: - The API's own path

/// What the API answered.
struct APIAnswer: Sendable {
    /// The status.
    let status: HTTPResponse.Status
    /// The body.
    let json: JSONValue

    /// Whether the request was taken.
    var isSuccess: Bool { status.kind == .successful }

    /// `error.message`.
    var message: String { json["error"]?["message"]?.stringValue ?? "The gateway answered \(status.code)." }

    /// What is wrong with which field.
    var violations: [(field: String, text: String)] {
        json["error"]?["details"]?.elements.flatMap { detail in
            (detail["fieldViolations"]?.elements ?? []).map {
                (field: $0["field"]?.stringValue ?? "", text: $0["description"]?.stringValue ?? "")
            }
        } ?? []
    }

    /// As an error of a page.
    var error: ConsoleError {
        ConsoleError(status, status == .notFound ? "Not found" : "The gateway refused this", message)
    }
}

extension ConsoleCall {
    /// Sends a request through the API's own routes, as the operator.
    func api(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil, headers: HTTPFields = [:]
    ) async throws -> APIAnswer {
        let response = try await calls(request(method, path, body, headers), use)
        let buffer = try await response.body.collected()
        let text = buffer.readableBytes == 0 ? .object([]) : try? JSONValue(parsing: Array(buffer: buffer))
        // What is not JSON is an error of its own: its status says it.
        return APIAnswer(status: response.status, json: text ?? .object([]))
    }

    /// As ``api(_:_:_:headers:)``; what is refused is thrown.
    func act(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let answer = try await api(method, path, body)
        guard answer.isSuccess else { throw answer.error }
        return answer.json
    }

    /// A request of the API in the operator's name.
    private func request(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue?, _ headers: HTTPFields
    ) -> Request {
        var headers = headers
        let bytes = body.map { ByteBuffer(bytes: $0.bytes) }
        if let bytes {
            headers[.contentType] = "application/json"
            headers[.contentLength] = String(bytes.readableBytes)
        }
        let authority = visit.request.head.authority ?? "localhost"
        return Request(
            head: HTTPRequest(
                method: method, scheme: "http", authority: authority, path: path, headerFields: headers),
            body: RequestBody(buffer: bytes ?? ByteBuffer()))
    }

    /// The path of a resource of the project in the API.
    func apiPath(_ segments: String...) -> String {
        "/v1/projects/\(project.id)/" + segments.joined(separator: "/")
    }
}

extension JSONValue {
    /// The elements, when this is a list.
    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The members, when this is an object.
    var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// The number, when this is a whole one.
    var integerValue: Int? {
        switch self {
        case .number(let text), .string(let text): Int(text)
        default: nil
        }
    }

    /// The truth, when this is one.
    var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }
}

extension ResponseBody {
    /// All that the body writes.
    func collected() async throws -> ByteBuffer {
        let collector = BodyCollector()
        try await write(collector)
        return collector.buffer
    }
}

/// Keeps what a body writes.
private final class BodyCollector: ResponseBodyWriter {
    private(set) var buffer = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws { self.buffer.writeImmutableBuffer(buffer) }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
