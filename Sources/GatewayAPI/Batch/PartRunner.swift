import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1

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
