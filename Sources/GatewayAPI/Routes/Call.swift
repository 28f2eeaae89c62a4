import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import PushModel

/// A request on its way through a route.
struct Call: Sendable {
    /// The request.
    let request: Request
    /// Captures and logger.
    let context: GatewayRequestContext
    /// What the API stands on.
    let services: GatewayServices
    /// The largest body in bytes.
    let bodyLimitBytes: Int

    /// The query.
    var query: Query { Query(request.uri) }

    /// Logs for this request.
    var logger: Logger { context.logger }

    /// A capture of the path, percent-decoded once: the router hands it on raw.
    func parameter(_ name: String) throws(FCMError) -> String {
        guard let text = context.parameters[name[...]]?.percentDecoded else {
            throw .badRequest("name", "The path has a broken percent-encoding.")
        }
        return text
    }

    /// The body as JSON; an empty one as an empty object where `allowsEmpty`.
    func json(allowsEmpty: Bool = false) async throws -> ObjectReader {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimitBytes {
            throw FCMError(.bodyTooLarge, "Request payload size exceeds the limit: \(bodyLimitBytes) bytes.")
        }
        let body = try await collectedBody()
        if allowsEmpty && body.readableBytes == 0 { return try ObjectReader(root: .object([])) }
        return try ObjectReader(root: Self.parsed(body.readableBytesView))
    }

    private func collectedBody() async throws(FCMError) -> ByteBuffer {
        do {
            return try await request.body.collect(upTo: bodyLimitBytes)
        } catch is NIOTooManyBytesError {
            throw FCMError(.bodyTooLarge, "Request payload size exceeds the limit: \(bodyLimitBytes) bytes.")
        } catch {
            // Everything else is the connection's: reset, closed, or no HTTP any more.
            var ended = FCMError(.badRequest, "The request's body ended early or is not HTTP.")
            ended.cause = "\(type(of: error))"
            throw ended
        }
    }

    private static func parsed(_ bytes: some Collection<UInt8>) throws(FCMError) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw .badRequest("", "Invalid JSON payload received. \(error.message) (at byte \(error.offset))")
        }
    }
}

/// A request on a project, by a caller who may make it.
struct ProjectCall: Sendable {
    /// The request.
    let call: Call
    /// The project in the path, or that of the caller's key.
    let project: Project
    /// Who sent it.
    let caller: Caller

    /// What the API stands on.
    var services: GatewayServices { call.services }

    /// `projects/<id>`.
    var projectName: String { "projects/\(project.id)" }

    /// The time now.
    var now: Timestamp { call.services.wallTime() }
}
