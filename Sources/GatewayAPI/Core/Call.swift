import HTTPListener
import Hummingbird
import HummingbirdCore
import JSON
import Logging
import NIOCore
import PushModel

/// A request on its way through a route.
struct Call: Sendable {
    /// What stays as it is, in one object: a call is handed on often, and its parts are many.
    private let origin: Origin
    /// The largest body in bytes.
    var bodyLimitBytes: Int
    /// Room for bodies that arrive; `nil`: the caller is a backend.
    var bodies: BodyGate?

    private final class Origin: Sendable {
        let request: Request
        let context: GatewayRequestContext
        let services: RequestServices
        let signers: AccountSigners
        let provenConnections: ProvenConnections?

        init(
            _ request: Request, _ context: GatewayRequestContext, _ services: RequestServices,
            _ signers: AccountSigners, _ provenConnections: ProvenConnections?
        ) {
            self.request = request
            self.context = context
            self.services = services
            self.signers = signers
            self.provenConnections = provenConnections
        }
    }

    /// Begins a request.
    ///
    /// - Parameter provenConnections: the listener's; `nil`: there is no listener.
    init(
        request: Request, context: GatewayRequestContext, services: RequestServices, bodyLimitBytes: Int,
        bodies: BodyGate?, signers: AccountSigners, provenConnections: ProvenConnections?
    ) {
        origin = Origin(request, context, services, signers, provenConnections)
        self.bodyLimitBytes = bodyLimitBytes
        self.bodies = bodies
    }

    /// The request.
    var request: Request { origin.request }

    /// Captures and logger.
    var context: GatewayRequestContext { origin.context }

    /// What the API stands on.
    var services: RequestServices { origin.services }

    /// Who signs assertions.
    var signers: AccountSigners { origin.signers }

    /// How large the body says it will be; as large as it may be when it does not say.
    var announcedBytes: Int {
        // What a body holds when it is decoded it does not say.
        guard request.headers[.contentEncoding] == nil else { return bodyLimitBytes }
        let length = request.headers[.contentLength].flatMap { Int($0) }
        return length.map { min(max($0, 0), bodyLimitBytes) } ?? bodyLimitBytes
    }

    /// The query.
    var query: Query { Query(request.uri) }

    /// Counts the request's connection among those that proved a backend's credential.
    func proveConnection() { origin.provenConnections?.insert(context.channel) }

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
            guard let bodies else { return try await request.body.collect(upTo: bodyLimitBytes) }
            var room = BodyRoom(in: bodies, of: clientAddress)
            defer { room.leave() }
            var body = ByteBuffer()
            for try await var part in request.body {
                guard body.readableBytes + part.readableBytes <= bodyLimitBytes else {
                    throw FCMError.bodyTooLarge(limitBytes: bodyLimitBytes)
                }
                try room.take(part.readableBytes)
                body.writeBuffer(&part)
            }
            return body
        } catch let error as FCMError {
            throw error
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
