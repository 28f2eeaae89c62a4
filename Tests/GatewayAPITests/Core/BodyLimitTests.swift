import HTTPListener
import HTTPTypes
import JSON
import PushModel
import Store
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
        for route in RouteTable.described where !route.isBatch {
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

    @Test func clientsSendNoMoreThanAppsNeed() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 4 << 20)
        func add(_ count: Int, as role: Role) async throws -> Int {
            let list = Array(repeating: "\"abcdefgh:\(String(repeating: "x", count: 160))\"", count: count)
            let body = #"{"to":"/topics/news","registration_tokens":[\#(list.joined(separator: ","))]}"#
            return try await gateway.request(.post, "/iid/v1:batchAdd", body, as: role).status
        }
        #expect(try await add(150, as: .client) == 200)
        #expect(try await add(300, as: .client) == 413)
        #expect(try await add(1000, as: .sender) == 200)
    }

    @Test func bodiesThatDoNotEndTakeABoundedRoom() throws {
        let gate = BodyGate(limitBytes: 8000)
        var rooms = (0..<7).map { BodyRoom(in: gate, of: ClientAddress("192.0.2.\($0)")) }
        for place in rooms.indices {
            try rooms[place].take(1000)
            #expect(throws: FCMError.self) { try rooms[place].take(1) }
        }
        // Another request of the same address finds no room, another address does, until all is taken.
        var same = BodyRoom(in: gate, of: "192.0.2.0")
        let error = #expect(throws: FCMError.self) { try same.take(1) }
        #expect(error?.code == .resourceExhausted && error?.retryAfterSeconds == 1)
        var last = BodyRoom(in: gate, of: "192.0.2.99")
        try last.take(1000)
        var next = BodyRoom(in: gate, of: "192.0.2.100")
        #expect(throws: FCMError.self) { try next.take(1) }
        rooms[0].leave()
        same.leave()
        try next.take(1000)
        for place in rooms.indices { rooms[place].leave() }
        last.leave()
        next.leave()
        #expect(gate.heldBytes == 0)
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
