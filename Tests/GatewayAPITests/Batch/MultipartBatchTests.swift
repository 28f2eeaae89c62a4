import Delivery
import HTTPTypes
import JSON
import PushModel
import Store
import TestSupport
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct MultipartBatchTests {
    private static let boundary = "__END_OF_PART__"
    private static let send = "POST /v1/projects/demo/messages:send HTTP/1.1"
    private static let title = #""notification":{"title":"Hi"}"#

    /// A batch as Java's SDK writes it.
    private func body(_ requests: [(line: String, body: String)]) -> String {
        var text = ""
        for (number, request) in requests.enumerated() {
            text += "--\(Self.boundary)\r\nContent-Length: 999\r\nContent-Type: application/http\r\n"
            text += "Content-Id: \(number + 1)\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            text += "\(request.line)\r\nHost: fcm.googleapis.com\r\nContent-Length: \(request.body.utf8.count)\r\n"
            text += "Content-Type: application/json; charset=UTF-8\r\n\r\n\(request.body)\r\n"
        }
        return text + "--\(Self.boundary)--\r\n"
    }

    private func batch(
        _ requests: [(line: String, body: String)], to path: String = "/batch", as role: Role? = .sender,
        headers: HTTPFields = [:], in gateway: TestGateway
    ) async throws -> Answer {
        var headers = headers
        headers[.contentType] = "multipart/mixed; boundary=\"\(Self.boundary)\""
        return try await gateway.request(.post, path, body(requests), as: role, headers: headers)
    }

    /// One answer of a batch.
    private struct Part {
        let id: String?
        let statusLine: String
        let header: HeaderBlock
        let text: String

        var status: Int { Int(statusLine.split(separator: " ")[1]) ?? 0 }
        var json: JSONValue { get throws { try JSONValue(parsing: Array(text.utf8)) } }
    }

    /// Reads an answer as an SDK does, with the reader that batches are read with.
    private func parts(_ answer: Answer) throws -> [Part] {
        #expect(answer.status == 200, "\(answer.text)")
        let type = try MultipartType(answer.headers[.contentType])
        var parser = MultipartParser(boundary: type.boundary, partLimit: 500)
        try parser.append(answer.text.utf8)
        return try parser.finish().map { bytes in
            let outer = try HeaderBlock(bytes, hasStartLine: false)
            #expect(outer["Content-Type"] == "application/http")
            let inner = try HeaderBlock(Array(outer.body), hasStartLine: true)
            #expect(inner["Content-Length"] == String(inner.body.count))
            return Part(
                id: outer["Content-ID"], statusLine: try #require(inner.startLine), header: inner,
                text: String(decoding: inner.body, as: UTF8.self))
        }
    }

    @Test(arguments: ["/batch", "/v1"])
    func eachPartIsAnsweredInOrder(path: String) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await batch(
            [
                (Self.send, #"{"message":{"token":"\#(token)",\#(Self.title)}}"#),
                (Self.send, #"{"message":{"token":"abcdefgh:APA91bunknown",\#(Self.title)}}"#),
                (Self.send, #"{"message":{"topic":"news","icon":1}}"#),
                (
                    "POST https://fcm.googleapis.com/v1/projects/demo/messages:send HTTP/1.1",
                    #"{"message":{"topic":"news",\#(Self.title)}}"#
                ),
                ("GET /v1/projects/demo/messages HTTP/1.1", ""),
                ("POST /batch HTTP/1.1", "{}"),
                ("POST /v1/projects/demo/messages:batchSend HTTP/1.1", "{}"),
                ("DELETE /v1/projects/demo/messages:send HTTP/1.1", ""),
                ("POST /v1/projects/other/messages:send HTTP/1.1", #"{"message":{"topic":"news",\#(Self.title)}}"#),
                ("POST /v1/projects/demo/registrations HTTP/1.1", "{}"),
            ], to: path, in: gateway)
        let parts = try parts(answer)
        #expect(parts.map(\.status) == [200, 404, 400, 200, 200, 400, 404, 405, 403, 403])
        #expect(parts.map(\.id) == (1...10).map { "<response-\($0)>" })
        #expect(parts[0].statusLine == "HTTP/1.1 200 OK")
        #expect(parts[0].header["Content-Type"] == "application/json; charset=UTF-8")
        let name = try #require(try parts[0].json["name"]?.stringValue)
        #expect(try await gateway.request(.get, "/v1/\(name)").status == 200)
        #expect(parts[1].text.contains(#""errorCode":"UNREGISTERED""#))
        #expect(parts[2].text.contains("message.icon") || parts[2].text.contains("icon"))
        #expect(parts[5].text.contains("A batch can't hold a batch."))
        #expect(parts[8].text.contains("SENDER_ID_MISMATCH"))
    }

    @Test func aPartDoesNotWait() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let message = #"{"message":{"token":"\#(token)",\#(Self.title)}"#
        let parts = try parts(
            await batch(
                [
                    (Self.send, message + #","delivery":{"wait":5}}"#),
                    (Self.send + "\r\nPrefer: wait=5", message + "}"),
                ], in: gateway))
        #expect(parts.map(\.status) == [400, 200])
        #expect(parts[0].text.contains("WAIT_NOT_POSSIBLE"))
        #expect(try parts[1].json["outcome"] == nil)
        #expect(try await gateway.claim(.interactive).count == 1)
    }

    @Test func fiveHundredMessagesAreTaken() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let request = (Self.send, #"{"message":{"token":"\#(token)",\#(Self.title)}}"#)
        let answer = try await batch(Array(repeating: request, count: 500), in: gateway)
        let names = try parts(answer).map { try #require(try $0.json["name"]?.stringValue) }
        #expect(Set(names).count == 500)
        #expect(try await gateway.claim(.interactive).count == 500)
        let tooMany = try await batch(Array(repeating: request, count: 501), in: gateway)
        #expect(tooMany.status == 400)
        #expect(try tooMany.errorMessage == "Failed to parse batch request: The body has more than 500 parts.")
        #expect(try await gateway.claim(.interactive).isEmpty)
    }

    @Test func credentialsInPartsDoNotCount() async throws {
        let gateway = try await TestGateway()
        let admin = try #require(gateway.keys[.admin]).text
        let line = "GET /v1/projects/demo/registrations HTTP/1.1"
        let withKey = (line + "\r\nAuthorization: Bearer \(admin)\r\nX-Goog-Api-Key: \(admin)", "")
        #expect(try parts(await batch([withKey], in: gateway)).map(\.status) == [403])
        #expect(try parts(await batch([(line, "")], as: .admin, in: gateway)).map(\.status) == [200])
        let foreign: HTTPFields = [.authorization: "Bearer \(gateway.foreignKey.text)"]
        #expect(try parts(await batch([(line, "")], as: nil, headers: foreign, in: gateway)).map(\.status) == [403])
    }

    /// A batch goes through before a store fails, or not at all: it has no 5xx of its own once a part was looked at.
    @Test func failuresStandInTheParts() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await batch(
            [
                (Self.send, #"{"message":{"token":"abcdefgh:APA91bunknown",\#(Self.title)}}"#),
                (Self.send, #"{"message":{}}"#),
            ], in: gateway)
        let parts = try parts(answer)
        #expect(parts.map(\.status) == [503, 400])
        #expect(parts[0].header["Retry-After"] != nil)
    }

    @Test func aRepeatWithTheSameKeyIsTheSameMessage() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let keyed = (Self.send + "\r\nIdempotency-Key: k1", #"{"message":{"token":"\#(token)",\#(Self.title)}}"#)
        let first = try parts(await batch([keyed], in: gateway)).map { try $0.json["name"] }
        #expect(try parts(await batch([keyed, keyed], in: gateway)).map { try $0.json["name"] } == first + first)
        let refused = try await batch([keyed], headers: [.idempotencyKey: "k2"], in: gateway)
        #expect(refused.status == 400)
        #expect(try refused.badFields == ["Idempotency-Key"])
    }

    @Test(arguments: [
        ("", "multipart/mixed; boundary=b"), ("--b--", "multipart/mixed; boundary=b"), ("--b\n\n--b--", "text/plain"),
        ("--b\nContent-Type: application/http\n\nPOST", "multipart/mixed; boundary=b"),
    ])
    func aWrongBatchIsRefusedAsAWhole(body: String, type: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, "/batch", body, as: .sender, headers: [.contentType: type])
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
        #expect(try answer.errorMessage?.hasPrefix("Failed to parse batch request: ") == true)
    }

    @Test func aBatchNeedsAKey() async throws {
        let gateway = try await TestGateway()
        #expect(try await batch([(Self.send, "{}")], as: nil, in: gateway).status == 401)
        #expect(try await gateway.request(.get, "/batch").status == 405)
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        let gateway = try await TestGateway(batchLimitBytes: 1000)
        let answer = try await batch([(Self.send, String(repeating: " ", count: 1000))], in: gateway)
        #expect(answer.status == 413)
    }

    /// Whatever is broken in a batch, it is refused as a whole or answered part by part.
    @Test func aBrokenBatchIsRefusedOrAnswered() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let message = #"{"message":{"token":"\#(token)",\#(Self.title)}}"#
        let whole = Array(body(Array(repeating: (Self.send, message), count: 3)).utf8)
        let headers: HTTPFields = [.contentType: "multipart/mixed; boundary=\(Self.boundary)"]
        let pieces = [
            "\r\n", "--\(Self.boundary)", "--\(Self.boundary)--\r\n", "\0", ":", " ", "é", "HTTP/1.1", "{", "\n\n",
        ]
        var random = SeededRandom(seed: 7)
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, place + Int.random(in: 0...40, using: &random))
                let piece = Bool.random(using: &random) ? pieces.randomElement(using: &random) ?? "" : ""
                bytes.replaceSubrange(place..<end, with: Array(piece.utf8))
            }
            // What a test sends is text: bytes that are none become others.
            let answer = try await gateway.request(
                .post, "/batch", String(decoding: bytes, as: UTF8.self), as: .sender, headers: headers)
            switch answer.status {
            case 200: for part in try parts(answer) { #expect(part.status < 500, "\(part.text)") }
            default: #expect(answer.status == 400, "\(answer.text)")
            }
        }
    }
}
