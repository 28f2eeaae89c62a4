import HTTPListener
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1
import PushModel

/// `POST /batch`, and `POST /v1` where Go's SDK sends it: many requests in one, as Google's APIs take them
/// (fcm.md §1.10, §10.5).
///
/// Each part goes through the routes as if it came alone, with the credentials of the batch: what it may do is decided
/// for it. Answered 200 with the answers in the order of the parts; an error for the whole batch only before the first
/// part is looked at.
enum MultipartBatch {
    /// - Parameter parts: answers the parts; `nil`: there is nothing that answers.
    static func all(batches: BatchGate, parts: RouterResponder<GatewayRequestContext>?) -> [Route] {
        let scope = Route.Scope.keyProject(.batch) { call in
            try await batches.withRoom(for: call) { try await respond(to: call, parts) }
        }
        return BatchedRequest.batchPaths.map { Route(method: .post, path: $0, scope: scope).forBatches }
    }

    /// The most parts.
    static let partLimit = 500

    private static func respond(
        to call: ProjectCall, _ parts: RouterResponder<GatewayRequestContext>?
    ) async throws -> Response {
        let requests = try await requests(call)
        guard let parts else { throw FCMError(.notFound) }
        let runner = PartRunner(responder: parts, context: call.context)
        let answers = await runner.answers(to: requests)
        return response(zip(requests.map(\.id), answers))
    }

    private static func requests(_ call: ProjectCall) async throws(FCMError) -> [BatchedRequest] {
        let headers = call.headers
        guard headers[.idempotencyKey] == nil else {
            throw .badRequest("Idempotency-Key", "An Idempotency-Key belongs into the parts of a batch, one into each.")
        }
        let body = try await call.body().bytes
        let parts: [[UInt8]]
        do throws(MultipartProblem) {
            let type = try MultipartType(headers[.contentType])
            var parser = MultipartParser(boundary: type.boundary, partLimit: partLimit)
            try parser.append(body.readableBytesView)
            parts = try parser.finish()
        } catch {
            throw .badRequest("", "Failed to parse batch request: \(error.text)")
        }
        guard !parts.isEmpty else { throw .badRequest("", "Failed to parse batch request: the batch has no parts.") }
        var shared = HTTPFields()
        for name in [HTTPField.Name.authorization, .googleAPIKey, .forwardedFor] { shared[name] = headers[name] }
        return parts.map { BatchedRequest(part: $0, shared: shared) }
    }

    private static func response(_ answers: Zip2Sequence<[String?], [PartAnswer]>) -> Response {
        // Can't stand in an answer: 128 random bits.
        let boundary =
            "batch_"
            + [UInt64.random(in: .min ... .max), .random(in: .min ... .max)]
            .map { String($0, radix: 36) }.joined()
        var pieces: [ByteBuffer] = []
        var body = ByteBuffer()
        for (id, answer) in answers {
            body.writeString("--\(boundary)\r\nContent-Type: application/http\r\n")
            if let id { body.writeString("Content-ID: <response-\(id)>\r\n") }
            body.writeString("\r\n")
            answer.writeHead(to: &body)
            if answer.body.readableBytes < 64 << 10 {
                body.writeImmutableBuffer(answer.body)
            } else {
                // Not copied: many large ones would take twice their memory.
                pieces += [body, answer.body]
                body = ByteBuffer()
            }
            body.writeString("\r\n")
        }
        body.writeString("--\(boundary)--\r\n")
        pieces.append(body)
        return Response(
            status: .ok, headers: [.contentType: "multipart/mixed; boundary=\(boundary)"],
            body: ResponseBody(contentLength: pieces.reduce(0) { $0 + $1.readableBytes }) { [pieces] writer in
                for piece in pieces { try await writer.write(piece) }
                try await writer.finish(nil)
            })
    }
}
