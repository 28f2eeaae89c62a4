import HTTPListener
import HTTPTypes
import HummingbirdCore
import PushModel
import TestSupport
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct MultipartTests {
    private func parts(_ body: String, boundary: String = "b", limit: Int = 500) throws -> [String] {
        var parser = MultipartParser(boundary: boundary, partLimit: limit)
        try parser.append(body.utf8)
        return try parser.finish().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: ["\r\n", "\n"])
    func partsAreCutAtDelimiters(end: String) throws {
        let body = [
            "a preamble", "--b", "X: 1", "", "one", "--b \t", "X: 2", "", "two", "", "--b-not", "--b--", "--b",
            "ignored",
        ].joined(separator: end)
        #expect(
            try parts(body) == [
                ["X: 1", "", "one"].joined(separator: end), ["X: 2", "", "two", "", "--b-not"].joined(separator: end),
            ])
    }

    @Test func theClosingDelimiterMayEndTheBody() throws {
        #expect(try parts("--b\n\n--b--") == [""])
        #expect(try parts("--b\n--b--\n") == [""])
        #expect(try parts("--b--").isEmpty)
    }

    @Test(arguments: ["", "text", "--b", "--b\nX: 1\n\nbody", "--b\nX: 1\n\nbody\n--c--\n"])
    func aTruncatedBodyIsRefused(body: String) {
        #expect(throws: MultipartProblem.self) { try parts(body) }
    }

    @Test func partsAreLimited() throws {
        let three = "--b\n1\n--b\n2\n--b\n3\n--b--\n"
        #expect(try parts(three, limit: 3).count == 3)
        #expect(throws: MultipartProblem("The body has more than 2 parts.")) { try parts(three, limit: 2) }
    }

    /// However the bytes are cut, the parts are the same; and any bytes at all are read or refused.
    @Test func randomBodiesAreReadAlikeInAnyPieces() throws {
        var random = SeededRandom(seed: 20_260_301)
        let pieces = ["--b", "--b--", "\r\n", "\n", "\r", "-", "x: y", ":", " ", "é", "--b \n", "{}", "\n--b\n", "\0"]
        for _ in 0..<3000 {
            let body = (0..<Int.random(in: 0...20, using: &random)).flatMap { _ in
                Array(pieces.randomElement(using: &random)!.utf8)
            }
            var whole = MultipartParser(boundary: "b", partLimit: 4)
            let expected = Result { () throws(MultipartProblem) in
                try whole.append(body)
                return try whole.finish()
            }
            var split = MultipartParser(boundary: "b", partLimit: 4)
            let found = Result { () throws(MultipartProblem) in
                var rest = body[...]
                while !rest.isEmpty {
                    let count = Int.random(in: 1...3, using: &random)
                    try split.append(rest.prefix(count))
                    rest = rest.dropFirst(count)
                }
                return try split.finish()
            }
            #expect(found == expected)
            // A body that is refused has no parts to look at.
            for part in (try? expected.get()) ?? [] {
                // Reads it or says why not.
                let request = BatchedRequest(part: part, shared: [:])
                if case .failure(let error) = request.request { #expect(error.code == .badRequest) }
                #expect(!part.starts(with: "--b\n".utf8))
            }
        }
    }

    @Test(arguments: [
        ("multipart/mixed; boundary=__END_OF_PART__", "__END_OF_PART__"),
        (#"Multipart/Mixed; charset=utf-8; BOUNDARY="===============73=""#, "===============73="),
        (#"multipart/mixed;boundary="a;b\"c=d e""#, #"a;b"c=d e"#),
        ("multipart/mixed ; boundary = x ", "x"),
    ])
    func boundariesAreReadFromTheContentType(value: String, boundary: String) throws {
        #expect(try MultipartType(value).boundary == boundary)
    }

    @Test(arguments: [
        nil, "", "application/json", "multipart/mixed", "multipart/mixed; boundary=", "multipart/form-data; boundary=x",
        "multipart/mixed; boundary=\(String(repeating: "x", count: 71))", "multipart/mixed; boundary=é",
        #"multipart/mixed; boundary="x ""#,
    ])
    func otherContentTypesAreRefused(value: String?) {
        #expect(throws: MultipartProblem.self) { try MultipartType(value) }
    }

    private func request(_ lines: String..., part: [String] = ["Content-Type: application/http"]) -> BatchedRequest {
        BatchedRequest(
            part: Array((part + [""] + lines).joined(separator: "\n").utf8),
            shared: [.authorization: "Bearer outer", .forwardedFor: "192.0.2.7"])
    }

    @Test(arguments: [
        "/v1/projects/p/messages:send?x=1", "https://fcm.googleapis.com/v1/projects/p/messages:send?x=1",
        "HTTP://localhost:8080/v1/projects/p/messages:send?x=1",
    ])
    func aTargetMayBeAbsolute(target: String) throws {
        let request = try request("POST \(target) HTTP/1.1", "Host: a", "", "{}").request.get()
        #expect(request.uri.path == "/v1/projects/p/messages:send" && request.uri.query == "x=1")
        #expect(request.method == .post)
    }

    @Test func theAddressOfTheBatchCounts() throws {
        let request = try request("GET /x HTTP/1.1", "X-Forwarded-For: 10.0.0.1", "x-forwarded-for: 10.0.0.2", "")
            .request.get()
        #expect(request.headers[values: .forwardedFor] == ["192.0.2.7"])
    }

    @Test(arguments: [
        ("POST /v1/projects/p/messages:send HTTP/1.1", true), ("POST /v1/projects/p/messages:send?a=b HTTP/1.1", true),
        ("GET /v1/projects/p/messages:send HTTP/1.1", false), ("GET /v1/projects/p/messages HTTP/1.1", false),
        ("POST /iid/v1:batchAdd HTTP/1.1", false), ("nothing", false),
    ])
    func sendsAreTold(line: String, isSend: Bool) {
        #expect(request(line, "", "{}").isSend == isSend)
    }

    @Test func theCredentialsOfTheBatchCount() throws {
        let request = try request(
            "POST /x HTTP/1.1", "authorization: Bearer inner", "X-Goog-Api-Key: inner", "prefer: wait=5", "X-Own: 1",
            "Content-Length: 1", "", "{}"
        ).request.get()
        #expect(request.headers[values: .authorization] == ["Bearer outer"])
        #expect(request.headers[.googleAPIKey] == nil && request.headers[HTTPField.Name("Prefer")!] == nil)
        #expect(request.headers[HTTPField.Name("X-Own")!] == "1")
        #expect(request.headers[.contentLength] == "2")
    }

    @Test(arguments: [
        ("<1>", "1"), ("7", "7"), ("<b29c5de2 + 1>", "b29c5de2 + 1"), ("<>", nil), ("a\u{1}b", nil),
    ])
    func idsAreReadWithoutBrackets(value: String, id: String?) {
        let request = request(
            "GET / HTTP/1.1", part: ["Content-ID: \(value)", "Content-Type: application/http; msgtype=request"])
        #expect(request.id == id)
    }

    @Test(arguments: [
        "", "POST /x", "POST x HTTP/1.1", "POST /x HTTP/2", "PO ST /x HTTP/1.1", "P@ST{} /x HTTP/1.1",
        "POST  /x HTTP/1.1",
        "POST https://host HTTP/1.1", "POST /batch HTTP/1.1", "POST /batch/?a=1 HTTP/1.1",
        "POST https://h/v1 HTTP/1.1", "POST /v1/ HTTP/1.1", "POST /x HTTP/1.1\nno colon", "POST /x HTTP/1.1\nä: 1",
        "POST /x HTTP/1.1\nTransfer-Encoding: chunked\n\n0", "POST /x HTTP/1.1\nContent-Length: 9\n\nshort",
        "POST /x HTTP/1.1\nContent-Length: x\n\n{}", "POST /é HTTP/1.1",
    ])
    func whatIsNoRequestIsRefused(text: String) {
        #expect(throws: FCMError.self) { try request(text).request.get() }
    }

    @Test(arguments: [
        [], ["Content-Type: application/json"],
        ["Content-Type: application/http", "Content-Transfer-Encoding: base64"],
    ])
    func otherPartsAreRefused(header: [String]) {
        #expect(throws: FCMError.self) { try request("GET /x HTTP/1.1", part: header).request.get() }
    }
}
