import Crypto
import Hummingbird
import HummingbirdCore
import JSON
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
    /// Room for large bodies.
    let batches: BatchGate
    /// Answers the parts of a multipart batch; `nil`: the request is such a part itself.
    let partResponder: RouterResponder<GatewayRequestContext>?

    /// Whether the request is a part of a multipart batch.
    var isPart: Bool { partResponder == nil }

    /// How large the body says it will be; as large as it may be when it does not say.
    var announcedBytes: Int {
        // What a body holds when it is decoded it does not say.
        guard request.headers[.contentEncoding] == nil else { return bodyLimitBytes }
        let length = request.headers[.contentLength].flatMap { Int($0) }
        return length.map { min(max($0, 0), bodyLimitBytes) } ?? bodyLimitBytes
    }

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

    /// The body, in one piece.
    func body() async throws(FCMError) -> RequestBody {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimitBytes {
            throw .bodyTooLarge(limitBytes: bodyLimitBytes)
        }
        let coding = try ContentCoding(request.headers)
        return RequestBody(bytes: try coding.decoded(try await collectedBody(), limitBytes: bodyLimitBytes))
    }

    /// The body as JSON; an empty one as an empty object where `allowsEmpty`.
    func json(allowsEmpty: Bool = false) async throws(FCMError) -> ObjectReader {
        let body = try await body()
        if allowsEmpty && body.bytes.readableBytes == 0 { return try ObjectReader(root: .object([])) }
        return try body.json()
    }

    private func collectedBody() async throws(FCMError) -> ByteBuffer {
        do {
            return try await request.body.collect(upTo: bodyLimitBytes)
        } catch is NIOTooManyBytesError {
            throw FCMError.bodyTooLarge(limitBytes: bodyLimitBytes)
        } catch {
            // Everything else is the connection's: reset, closed, or no HTTP any more.
            var ended = FCMError(
                .badRequest, "The request's body ended early or is not HTTP.", reason: .incompleteRequest)
            ended.cause = "\(type(of: error))"
            throw ended
        }
    }
}

/// What a request carries.
struct RequestBody: Sendable {
    /// The bytes as they came.
    let bytes: ByteBuffer

    /// The body as JSON.
    func json() throws(FCMError) -> ObjectReader {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes.readableBytesView)
        } catch {
            let refusal = FCMError.badRequest(
                "", "Invalid JSON payload received. \(error.message) (at byte \(error.offset))",
                reason: .malformedJSON)
            throw refusal.hinting(bytes.readableBytes == 0 ? SenderHint.emptyBody : nil)
        }
        return try ObjectReader(root: value)
    }

    /// SHA-256 of the bytes and of what they were sent to: two methods may be sent the same.
    func digest(for method: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("\(method)\n".utf8))
        // In pieces: a batch is not copied as a whole.
        var rest = bytes.readableBytesView[...]
        while !rest.isEmpty {
            hash.update(data: Array(rest.prefix(64 << 10)))
            rest = rest.dropFirst(64 << 10)
        }
        return Array(hash.finalize())
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
