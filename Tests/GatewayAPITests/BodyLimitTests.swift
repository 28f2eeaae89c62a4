import HTTPTypes
import JSON
import PushModel
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct BodyLimitTests {
    /// An object of unknown names, `size` bytes or a little more.
    private static func unknownNames(size: Int) -> String {
        var text = #"{"a":1"#
        var index = 0
        while text.utf8.count < size {
            text += #","n\#(index)":1"#
            index += 1
        }
        return text + "}"
    }

    @Test(arguments: ["/v1/projects/demo/messages:send", "/v1/projects/demo/registrations", "/iid/v1:batchAdd"])
    func aLargeBodyGetsASmallAnswer(path: String) async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 4 << 20)
        let answer = try await gateway.request(.post, path, Self.unknownNames(size: 4_000_000))
        #expect(answer.status == 413)
        #expect(answer.text.utf8.count < 1000)
    }

    @Test(arguments: ["@", #"{"message":@}"#])
    func unknownNamesAreNotAllRepeated(body: String) async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 4 << 20)
        let names = Self.unknownNames(size: 60_000)
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:send", body.replacing("@", with: names))
        #expect(answer.status == 400)
        #expect(try answer.badFields.count == InvalidMessage.violationLimit)
        #expect(answer.text.utf8.count < 16_000)
    }

    @Test func aReaderOfAHugeObjectListsTheFirstUnknownNames() throws {
        let root = try JSONValue(parsing: Self.unknownNames(size: 4_000_000).utf8)
        let error = #expect(throws: FCMError.self) { try ObjectReader(root: root).refuseUnknown(except: []) }
        #expect(error?.violations.count == InvalidMessage.violationLimit)
        #expect(try #require(error).body.bytes.count < 64 << 10)
    }

    @Test func noRouteTakesMoreThanItNeedsOrThanIsConfigured() async throws {
        for route in Route.all where !route.isBatch {
            // 10,000 tokens need more.
            let limit = route.path.hasSuffix("/registrations:check") ? 4 << 20 : 1 << 20
            #expect(route.bodyLimitBytes <= limit, "\(route.path)")
        }
        let gateway = try await TestGateway(bodyLimitBytes: 100)
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:send", Self.unknownNames(size: 101))
        #expect(answer.status == 413)
        #expect(answer.text.contains("100 bytes"))
    }

    @Test func aBatchOfAThousandLongTokensFits() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 4 << 20)
        let token = "abcdefgh:" + String(repeating: "x", count: 1000)
        let list = Array(repeating: "\"\(token)\"", count: 1000).joined(separator: ",")
        let answer = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#)
        #expect(answer.status == 200)
    }
}
