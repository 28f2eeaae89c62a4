import HTTPListener
import HTTPTypes
import Logging
import PushModel
import Testing

@testable import GatewayAPI

struct RequestIDTests {
    @Test(arguments: ["a", "7f3c-11", "Root=1-67891233-abcdef012345678912345678", String(repeating: "x", count: 128)])
    func aCallersIdComesBack(text: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/healthz", as: nil, headers: [.requestID: text])
        #expect(answer.headers[.requestID] == text)
    }

    @Test func aRequestIDTakesNoPlaceInTheTable() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/healthz", headers: [.requestID: "order-77"])
        #expect(answer.headers[fields: .requestID].map(\.value) == ["order-77"])
        #expect(answer.headers[fields: .requestID].map(\.indexingStrategy) == [.avoid])
    }

    @Test(arguments: [nil, "", "two words", "a\"b", "ä", "x;y", String(repeating: "x", count: 129)])
    func anIdThatIsNoneIsReplacedByANewOne(text: String?) async throws {
        let gateway = try await TestGateway()
        var headers: HTTPFields = [:]
        headers[.requestID] = text
        var ids: Set<String> = []
        // Errors have one too.
        for path in ["/healthz", "/nothing", "/v1/projects/demo/messages/x"] {
            let answer = try await gateway.request(.get, path, as: nil, headers: headers)
            let id = try #require(answer.headers[.requestID])
            #expect(id != text)
            #expect(id.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            ids.insert(id)
        }
        #expect(ids.count == 3)
    }
}
