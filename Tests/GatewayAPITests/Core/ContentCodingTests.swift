import Foundation
import HTTPTypes
import NIOCore
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// Bodies with a `Content-Encoding`.
@Suite(.timeLimit(.minutes(5)))
struct ContentCodingTests {
    private static let path = "/v1/projects/demo/registrations"
    private static let body = #"{"ios":{"apns_token":"\#("00aa11".deviceToken)","bundle_id":"com.example.app"}}"#

    /// What the program gzip makes of a text.
    private func gzipped(_ text: String) async throws -> ByteBuffer {
        let directory = try TestDirectory()
        try text.write(toFile: directory.file("body"), atomically: true, encoding: .utf8)
        let made = try await run("gzip", ["-9", directory.file("body")])
        try #require(made.status == 0)
        return ByteBuffer(bytes: try #require(FileManager.default.contents(atPath: directory.file("body.gz"))))
    }

    private func post(
        _ gateway: TestGateway, _ bytes: ByteBuffer, _ coding: String = "gzip"
    ) async throws -> Answer {
        try await gateway.request(
            .post, Self.path, bytes: bytes, as: .client, headers: [.contentEncoding: coding])
    }

    @Test(arguments: ["gzip", "x-gzip", "GZIP"])
    func aBodyInGzipIsRead(coding: String) async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let answer = try await post(gateway, try await gzipped(Self.body), coding)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test(arguments: ["br", "deflate", "zstd", "gzip, gzip", "compress"])
    func anyOtherCodingIs415(coding: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await post(gateway, try await gzipped(Self.body), coding)
        #expect(answer.status == 415)
        #expect(answer.headers[.acceptEncoding] == "gzip")
        #expect(try answer.reason == "UNSUPPORTED_ENCODING")
    }

    /// 64 MiB in 64 KiB: the limit holds for what comes out.
    @Test func aBombIsTooLarge() async throws {
        let gateway = try await TestGateway()
        let bomb = try await gzipped(#"{"name":""# + String(repeating: "a", count: 64 << 20))
        #expect(bomb.readableBytes < 100_000)
        let answer = try await post(gateway, bomb)
        #expect(answer.status == 413, "\(answer.text.prefix(500))")
        #expect(try answer.reason == "BODY_TOO_LARGE")
    }

    @Test func whatIsNoGzipOrEndsEarlyIsABadRequest() async throws {
        let gateway = try await TestGateway()
        var cut = try await gzipped(Self.body)
        let whole = cut
        cut.moveWriterIndex(to: cut.writerIndex - 6)
        var longer = whole
        longer.writeString("more")
        for bytes in [ByteBuffer(string: Self.body), cut, longer] {
            let answer = try await post(gateway, bytes)
            #expect(answer.status == 400)
            #expect(try answer.reason == "MALFORMED_ENCODING")
        }
    }

    @Test(arguments: [0, 1, 100, 8191, 8192, 8193, 300_000])
    func everythingComesOut(length: Int) async throws {
        var state: UInt64 = 88_172_645_463_325_252
        let text = String(
            decoding: (0..<length).map { _ -> UInt8 in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return 32 + UInt8(state % 64)
            }, as: UTF8.self)
        let decoded = try ContentCoding.gzip.decoded(try await gzipped(text), limitBytes: length)
        #expect(String(buffer: decoded) == text)
        guard length > 0 else { return }
        let packed = try await gzipped(text)
        #expect(throws: FCMError.self) { try ContentCoding.gzip.decoded(packed, limitBytes: length - 1) }
    }
}
