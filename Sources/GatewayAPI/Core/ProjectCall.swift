import HTTPTypes
import HummingbirdCore
import Logging
import PushModel
import Traces

/// A request on a project, by a caller who may make it.
struct ProjectCall: Sendable {
    /// The request.
    let call: Call
    /// The project in the path, or that of the caller's key.
    let project: Project
    /// Who sent it.
    let caller: Caller

    /// What the API stands on.
    var services: RequestServices { call.services }

    /// `projects/<id>`.
    var projectName: String { "projects/\(project.id)" }

    /// The time now.
    var now: Timestamp { call.services.wallTime() }
}

extension ProjectCall {
    /// The header fields of the request.
    var headers: HTTPFields { call.request.headers }

    /// The query.
    var query: Query { call.query }

    /// Captures and logger, and the peer.
    var context: GatewayRequestContext { call.context }

    /// The trace of the request; `nil`: nothing is traced.
    var trace: RequestTrace? { call.context.trace }

    /// How large the body says it will be; as large as it may be when it does not say.
    var announcedBytes: Int { call.announcedBytes }

    /// Logs for this request.
    var logger: Logger { call.logger }

    /// A capture of the path, percent-decoded once.
    func parameter(_ name: String) throws(FCMError) -> String { try call.parameter(name) }

    /// The body, in one piece.
    func body() async throws(FCMError) -> RequestBody { try await call.body() }

    /// The body as JSON; an empty one as an empty object where `allowsEmpty`.
    func json(allowsEmpty: Bool = false) async throws(FCMError) -> ObjectReader {
        try await call.json(allowsEmpty: allowsEmpty)
    }
}
