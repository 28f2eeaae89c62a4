import Crypto
import FCMWire
import Foundation
import HTTP2Client
import PushModel
import TestSupport
import Testing

@testable import APNS

@Suite(.timeLimit(.minutes(5)))
struct RequestTests {
    @Test func `Path and header fields are exactly Apple's`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        let content = makeContent(priority: .conserving, collapseID: "news", pushType: .background)
        let push = try makePush(0x0102, lane: .interactive, content: content)
        #expect(await fixture.send([push]) == [.accepted])

        let request = try #require(fixture.transport.pools.first { !$0.requests.isEmpty }?.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/3/device/0000000000000102" + String(repeating: "ab", count: 24))
        #expect(request.body == content.payload)
        #expect(request.isUrgent)
        let fields = request.headers.map { "\($0.name) \($0.indexing)" }
        #expect(
            fields == [
                "authorization never", "apns-topic always", "apns-push-type always", "apns-priority always",
                "apns-expiration first", "apns-collapse-id first", "apns-id first",
            ])
        #expect(value(of: "authorization", in: request).hasPrefix("bearer ey"))
        #expect(value(of: "apns-topic", in: request) == "com.example.app")
        #expect(value(of: "apns-push-type", in: request) == "background")
        #expect(value(of: "apns-priority", in: request) == "5")
        #expect(value(of: "apns-expiration", in: request) == "1700003600")
        #expect(value(of: "apns-collapse-id", in: request) == "news")
        #expect(value(of: "apns-id", in: request) == push.id.rawValue)
    }

    @Test func `A push without storage says 0, one without a collapse id says nothing`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        _ = await fixture.send([try makePush(content: makeContent(expiration: .once))])
        let request = try #require(fixture.transport.pools.flatMap(\.requests).first)
        #expect(value(of: "apns-expiration", in: request) == "0")
        #expect(request.header("apns-collapse-id") == nil)
        #expect(!request.isUrgent)
    }

    @Test func `A time before 1970 does not become a push without storage`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        let content = makeContent(expiration: .until(Timestamp(seconds: -5)))
        _ = await fixture.send([try makePush(content: content)])
        #expect(
            value(of: "apns-expiration", in: try #require(fixture.transport.pools.flatMap(\.requests).first)) == "1")
    }

    @Test func `Pushes of different contents in a batch keep their own fields`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        let contents = [makeContent(collapseID: "a"), makeContent(collapseID: "b")]
        let batch = try (0..<10).map { try makePush(Int64($0), content: contents[$0 % 2], payload: [UInt8($0)]) }
        _ = await fixture.send(batch)
        let requests = fixture.transport.pools.flatMap(\.requests)
        #expect(requests.count == 10)
        for (index, request) in requests.enumerated() {
            #expect(request.body == [UInt8(index)])
            #expect(value(of: "apns-collapse-id", in: request) == (index % 2 == 0 ? "a" : "b"))
            #expect(value(of: "apns-id", in: request) == batch[index].id.rawValue)
            #expect(request.path.hasSuffix(batch[index].deviceToken.hex))
        }
    }

    @Test func `The provider token verifies with another implementation`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        _ = await fixture.send([try makePush()])
        let request = try #require(fixture.transport.pools.flatMap(\.requests).first)
        let token = value(of: "authorization", in: request).dropFirst("bearer ".count)
        let parts = token.split(separator: ".").map(String.init)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded(parts[2]))
        #expect(
            fixture.signer.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        #expect(String(decoding: try decoded(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"ABC1234567"}"#)
        #expect(String(decoding: try decoded(parts[1]), as: UTF8.self) == #"{"iss":"TEAM123456","iat":1700000000}"#)
    }

    private func value(of name: String, in request: Request) -> String {
        request.header(name) ?? ""
    }

    private func decoded(_ text: String) throws -> Data {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return try #require(
            Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)))
    }
}

extension Request {
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
