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
    static let all: [Route] = BatchedRequest.batchPaths.map { path in
        Route(method: .post, path: path, scope: .keyProject(.batch, respond)).forBatches
    }

    /// The routes that parts may use: what is small in both directions.
    static var partRoutes: [Route] {
        let routes =
            SendRoutes.all + RegistrationRoutes.all + TopicRoutes.all + InstanceIDRoutes.all + ReportRoutes.all
            + ControlRoutes.all
        return routes.filter { !$0.isBatch }
    }

    /// The most parts.
    static let partLimit = 500
    @Sendable private static func respond(_ call: ProjectCall) async throws -> Response {
        let size = call.call.announcedBytes
        try call.call.batches.enter(size, of: call.project.id)
        defer { call.call.batches.leave(size, of: call.project.id) }
        let requests = try await requests(call.call)
        guard let responder = call.call.partResponder else { throw FCMError(.notFound) }
        let runner = PartRunner(responder: responder, context: call.call.context)
        let answers = await runner.answers(to: requests)
        return response(zip(requests.map(\.id), answers))
    }

    private static func requests(_ call: Call) async throws(FCMError) -> [BatchedRequest] {
        let headers = call.request.headers
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

/// What a part is answered.
struct PartAnswer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: ByteBuffer

    /// Writes an HTTP/1.1 response up to its body.
    func writeHead(to buffer: inout ByteBuffer) {
        let reason = HTTPResponseStatus(statusCode: status.code).reasonPhrase
        buffer.writeString("HTTP/1.1 \(status.code) \(reason)\r\n")
        for field in headers where field.name != .contentLength {
            buffer.writeString("\(field.name.rawName): \(field.value)\r\n")
        }
        buffer.writeString("Content-Length: \(body.readableBytes)\r\n\r\n")
    }
}

/// Answers the parts of a batch, several at a time. Their answers are kept until the last is there: no more than
/// ``answerLimitBytes`` and what ``largeConcurrency`` lists hold.
struct PartRunner: Sendable {
    let responder: RouterResponder<GatewayRequestContext>
    let context: GatewayRequestContext

    /// So many parts are answered at the same time: their messages share commits.
    static let concurrency = 100
    /// So many of those that are not sends: a page of a list may be 8 MiB.
    static let largeConcurrency = 4
    /// The bytes of answers after which no further part is begun: lists are many times as large as the requests.
    static let answerLimitBytes = 32 << 20

    /// The answers in the order of `requests`; whatever happens to one, the others are answered.
    func answers(to requests: [BatchedRequest]) async -> [PartAnswer] {
        var answers: [PartAnswer?] = Array(repeating: nil, count: requests.count)
        await withTaskGroup(of: (place: Int, answer: PartAnswer).self) { group in
            var next = 0
            var running = 0
            var large = 0
            var size = 0
            while next < requests.count || running > 0 {
                begin: while next < requests.count, running < Self.concurrency {
                    let place = next
                    switch requests[place].request {
                    case .failure(let error):
                        answers[place] = await Self.answer(error.response(for: ""))
                    case .success where size > Self.answerLimitBytes:
                        answers[place] = await Self.answer(Self.tooMuch.response(for: ""))
                    case .success where !requests[place].isSend && large == Self.largeConcurrency:
                        break begin
                    case .success(let request):
                        running += 1
                        if !requests[place].isSend { large += 1 }
                        group.addTask { (place, await self.answer(to: request)) }
                    }
                    next += 1
                }
                guard let done = await group.next() else { continue }
                running -= 1
                if !requests[done.place].isSend { large -= 1 }
                size += done.answer.body.readableBytes
                answers[done.place] = done.answer
            }
        }
        return answers.compactMap(\.self)
    }

    private static var tooMuch: FCMError {
        FCMError(.resourceExhausted, "The answers of the batch are too large together: ask for this one alone.")
    }

    private func answer(to request: Request) async -> PartAnswer {
        let response: Response
        do {
            response = try await responder.respond(to: request, context: GatewayRequestContext(partOf: context))
        } catch {
            // The routes turn their errors into answers; this is for what stands around them.
            response = FCMError(any: error).response(for: request.uri.path)
        }
        return await Self.answer(response)
    }

    private static func answer(_ response: Response) async -> PartAnswer {
        let collected = AnswerCollector()
        do {
            try await response.body.write(collected)
        } catch {
            return await answer(FCMError(any: error).response(for: ""))
        }
        return PartAnswer(status: response.status, headers: response.headers, body: collected.buffer)
    }
}

/// Keeps what a body writes.
private final class AnswerCollector: ResponseBodyWriter {
    private(set) var buffer = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws {
        if self.buffer.readableBytes == 0 {
            self.buffer = buffer
        } else {
            self.buffer.writeImmutableBuffer(buffer)
        }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
