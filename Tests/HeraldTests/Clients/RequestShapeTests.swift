import Foundation
import Simulators
import TestSupport
import Testing

/// What the SDKs for Node, Go and Java put on the wire, sent by curl over TLS in the version of HTTP that they take.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Curl.isFound, "needs curl"))
struct RequestShapeTests {
    @Test(arguments: ReplayedSDK.all) func sdkFindsWhatItReads(sdk: ReplayedSDK) async throws {
        try await withGateway { test, curl, tokens in
            for shape in sdk.shapes {
                let answer = try await curl.post(
                    shape.path, tokens.filled(into: shape.body), shape.headers, httpVersion: shape.httpVersion)
                #expect(answer.httpVersion == shape.httpVersion, "\(shape.call)")
                try Self.expect(shape.expectation, answer, shape.call)
            }
            let titles = Set(sdk.shapes.compactMap(\.title))
            await test.simulator.recording.wait(untilCount: titles.count)
            let shown = try test.simulator.recording.pushes.map { try Self.title(of: $0.payload) }
            #expect(shown.sorted() == titles.sorted())
        }
    }

    @Test(arguments: ReplayedBatch.all) func batchIsAnsweredInOrder(batch: ReplayedBatch) async throws {
        try await withGateway { test, curl, tokens in
            let bodies = ["TOKEN", "DEAD", "TOKEN"].enumerated().map { index, token in
                tokens.filled(
                    into: #"{"message":{"token":"\#(token)","notification":{"title":"part \#(index + 1)"}}}"#)
            }
            let answer = try await curl.post(
                batch.path, batch.body(of: bodies), batch.headers, httpVersion: "2")
            #expect(answer.status == 200, "\(answer.text)")
            let type = try #require(answer.headers["content-type"])
            let boundary = try #require(type.wholeMatch(of: /multipart\/mixed; *boundary="?([^"]+)"?/)).output.1
            let parts = answer.text.components(separatedBy: "--\(boundary)").dropFirst().dropLast()
            #expect(parts.count == bodies.count)
            for (index, (part, status)) in zip(parts, ["200", "404", "200"]).enumerated() {
                #expect(part.contains("HTTP/1.1 \(status) "), "\(part)")
                let identifier = part.firstMatch(of: /(?i)content-id: *<?([^>\r\n]+)>?/)?.output.1
                #expect(identifier == "response-\(index + 1)")
                #expect(part.contains(status == "200" ? #""name""# : #""errorCode":"UNREGISTERED""#), "\(part)")
            }
            await test.simulator.recording.wait(untilCount: 2)
            let shown = try test.simulator.recording.pushes.map { try Self.title(of: $0.payload) }
            #expect(shown.sorted() == ["part 1", "part 3"])
        }
    }

    /// Registers a device that lives and one that has ended.
    private func withGateway(_ body: (GatewayUnderTest, Curl, Tokens) async throws -> Void) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start(
                environment: ClientAccess(isEncrypted: true, credential: .key).listener(test))
            let curl = Curl(baseURL: process.baseURL, test)
            var registered: [String] = []
            for digit in ["a", "b"] {
                let device = String(repeating: "0\(digit)", count: 32)
                let answer = try await curl.post(
                    "/v1/projects/demo/registrations",
                    #"{"ios":{"apns_token":"\#(device)","bundle_id":"com.example.app"}}"#,
                    ["Content-Type": "application/json"])
                registered.append(try #require(try answer.json["token"] as? String, "\(answer.text)"))
            }
            let tokens = Tokens(alive: registered[0], dead: registered[1])
            let ended = try await curl.send("DELETE", "/v1/projects/demo/registrations/\(tokens.dead)", nil, [:])
            #expect(ended.status == 200)
            try await body(test, curl, tokens)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    private struct Tokens {
        let alive: String
        let dead: String

        func filled(into text: String) -> String {
            text.replacingOccurrences(of: "TOKEN", with: alive).replacingOccurrences(of: "DEAD", with: dead)
        }
    }

    /// An alert is a text or has a title.
    private static func title(of payload: String) throws -> String {
        let payload = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any]
        let alert = (payload?["aps"] as? [String: Any])?["alert"]
        return try #require(alert as? String ?? (alert as? [String: Any])?["title"] as? String)
    }

    private static func expect(
        _ expectation: RequestShape.Expectation, _ answer: Curl.Answer, _ call: String
    ) throws {
        switch expectation {
        case .name:
            #expect(answer.status == 200, "\(call): \(answer.text)")
            let name = try answer.json["name"] as? String
            #expect(name?.hasPrefix("projects/demo/messages/") == true, "\(call)")
        case .error(let httpStatus, let status, let code):
            #expect(answer.status == httpStatus, "\(call): \(answer.text)")
            let error = try #require(try answer.json["error"] as? [String: Any], "\(call)")
            #expect(error["status"] as? String == status, "\(call)")
            let detail = (error["details"] as? [[String: Any]])?.first
            #expect(detail?["@type"] as? String == "type.googleapis.com/google.firebase.fcm.v1.FcmError", "\(call)")
            #expect(detail?["errorCode"] as? String == code, "\(call)")
        case .results(let results):
            #expect(answer.status == 200, "\(call): \(answer.text)")
            let items = results.map { $0.map { "{\"error\":\"\($0)\"}" } ?? "{}" }
            #expect(answer.text == "{\"results\":[\(items.joined(separator: ","))]}", "\(call)")
        case .multicast(let results):
            #expect(answer.status == 200, "\(call): \(answer.text)")
            let members = try answer.json
            #expect(members["success"] as? Int == results.count { $0 == nil }, "\(call): \(answer.text)")
            #expect(members["failure"] as? Int == results.count { $0 != nil }, "\(call): \(answer.text)")
            #expect(members["multicast_id"] is Int, "\(call): \(answer.text)")
            let items = try #require(members["results"] as? [[String: Any]], "\(call)")
            #expect(items.map { $0["error"] as? String } == results, "\(call)")
            #expect(items.map { $0["message_id"] is String } == results.map { $0 == nil }, "\(call)")
        case .number:
            #expect(answer.status == 200, "\(call): \(answer.text)")
            #expect(try answer.json["message_id"] is Int, "\(call): \(answer.text)")
        }
    }
}

/// A multipart batch as an SDK writes it.
struct ReplayedBatch: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let path: String
    let headers: [String: String]
    /// Of a part, but for its length.
    let partHeaders: @Sendable (_ number: Int) -> String
    /// Of the request within, but for its length.
    let request: String
    let boundary: String

    static let all = [go, java]

    /// mime/multipart sorts the headers; with an endpoint of one's own the batch goes to the endpoint itself.
    static let go = ReplayedBatch(
        testDescription: "Go", path: "/v1",
        headers: [
            "Content-Type": "multipart/mixed; boundary=__END_OF_PART__", "X-Firebase-Client": "fire-admin-go/4.21.0",
        ],
        partHeaders: { "Content-Id: \($0)\r\nContent-Transfer-Encoding: binary\r\nContent-Type: application/http\r\n" },
        request: "POST /v1/projects/demo/messages:send HTTP/1.1\r\nHost: push.example.com\r\n"
            + "Content-Type: application/json; charset=UTF-8\r\nX-Firebase-Client: fire-admin-go/4.21.0\r\n"
            + "X-Goog-Api-Format-Version: 2\r\n",
        boundary: "__END_OF_PART__")

    /// google-http-client names the whole address.
    static let java = ReplayedBatch(
        testDescription: "Java", path: "/batch",
        headers: [
            "Content-Type": "multipart/mixed; boundary=__END_OF_PART__5f2b__", "Accept-Encoding": "gzip",
        ],
        partHeaders: { "Content-Type: application/http\r\ncontent-id: \($0)\r\ncontent-transfer-encoding: binary\r\n" },
        request: "POST https://fcm.googleapis.com/v1/projects/demo/messages:send HTTP/1.1\r\n"
            + "Accept-Encoding: gzip\r\nContent-Type: application/json; charset=UTF-8\r\n"
            + "x-firebase-client: fire-admin-java/9.10.0\r\nx-goog-api-format-version: 2\r\n",
        boundary: "__END_OF_PART__5f2b__")

    func body(of bodies: [String]) -> String {
        let parts = bodies.enumerated().map { index, body in
            let inner = request + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
            return "--\(boundary)\r\nContent-Length: \(inner.utf8.count)\r\n\(partHeaders(index + 1))\r\n\(inner)\r\n"
        }
        return parts.joined() + "--\(boundary)--\r\n"
    }
}
