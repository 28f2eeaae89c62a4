import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Pause, resume, cancel, and what reports show of it.
@Suite(.timeLimit(.minutes(5)))
struct ControlTests {
    private func state(_ answer: Answer) throws -> String? { try answer.json["state"]?.stringValue }

    @Test func aBroadcastIsPausedResumedAndCancelled() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(3)
        let name = try await gateway.send(#""topic":"news""#)
        for (method, expected) in [
            ("pause", "PAUSED"), ("pause", "PAUSED"), ("resume", "ACTIVE"), ("resume", "ACTIVE"),
            ("cancel", "CANCELLED"), ("cancel", "CANCELLED"),
        ] {
            let answer = try await gateway.request(.post, "/v1/\(name):\(method)", as: .sender)
            #expect(answer.status == 200, "\(method): \(answer.text)")
            #expect(try state(answer) == expected)
            #expect(try answer.json["name"] == .string(name))
            #expect(try state(await gateway.request(.get, "/v1/\(name)")) == expected)
        }
        for method in ["pause", "resume"] {
            let answer = try await gateway.request(.post, "/v1/\(name):\(method)", "{}")
            #expect(answer.status == 400)
            #expect(try answer.errorStatus == "FAILED_PRECONDITION")
        }
        _ = try await gateway.store.bookCancelled(limit: 100, at: gateway.clock.now)
        let ledger = try #require(try await gateway.request(.get, "/v1/\(name)").json["ledger"])
        #expect(ledger["cancelled"] == .number("3"))
    }

    @Test func aCompleteMessageStaysSo() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let name = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive)
        for control in MessageControl.allCases {
            let answer = try await gateway.request(.post, "/v1/\(name):\(control.rawValue)")
            #expect(answer.status == 400)
            #expect(try answer.errorStatus == "FAILED_PRECONDITION")
            #expect(try answer.errorMessage?.contains("COMPLETE") == true)
        }
        #expect(try state(await gateway.request(.get, "/v1/\(name)")) == "COMPLETE")
    }

    @Test(arguments: ["0:1-unknown", "bad%20name", "%zz"])
    func anUnknownMessageIsNotFound(name: String) async throws {
        let gateway = try await TestGateway()
        for control in MessageControl.allCases {
            let answer = try await gateway.request(.post, "/v1/projects/demo/messages/\(name):\(control.rawValue)")
            #expect(answer.status == (name == "%zz" ? 400 : 404), "\(answer.text)")
        }
    }

    @Test func aBodyIsRefused() async throws {
        let gateway = try await TestGateway()
        let name = try await gateway.send(#""topic":"news""#)
        #expect(try await gateway.request(.post, "/v1/\(name):pause", #"{"x":1}"#).status == 400)
    }

    @Test func messagesAreListedByState() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(1)
        var names: [String] = []
        for _ in 0..<5 { names.append(try await gateway.send(#""topic":"news""#)) }
        _ = try await gateway.request(.post, "/v1/\(names[1]):pause")
        _ = try await gateway.request(.post, "/v1/\(names[3]):pause")
        _ = try await gateway.request(.post, "/v1/\(names[2]):cancel")
        let done = try await gateway.send(#""topic":"empty""#)
        func listed(_ filter: String, pageSize: Int = 50) async throws -> [String] {
            var found: [String] = []
            var query = "pageSize=\(pageSize)&filter=\(filter)"
            while true {
                let answer = try await gateway.request(.get, "/v1/projects/demo/messages?\(query)")
                #expect(answer.status == 200, "\(answer.text)")
                guard case .array(let messages) = try answer.json["messages"] else { return [] }
                found += messages.compactMap { $0["name"]?.stringValue }
                guard let token = try answer.json["nextPageToken"]?.stringValue else { return found }
                query = "pageSize=\(pageSize)&filter=\(filter)&pageToken=\(token)"
            }
        }
        #expect(try await listed("state=PAUSED") == [names[3], names[1]])
        #expect(try await listed("state=PAUSED", pageSize: 1) == [names[3], names[1]])
        #expect(try await listed("state%20=%20%22active%22") == [names[4], names[0]])
        #expect(try await listed("state=CANCELLED") == [names[2]])
        #expect(try await listed("state=COMPLETE") == [done])
        let wrong = try await gateway.request(.get, "/v1/projects/demo/messages?filter=state=GONE")
        #expect(wrong.status == 400)
        #expect(try wrong.badFields == ["filter"])
    }

    @Test func aReportShowsThePace() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(1)
        func pace(_ delivery: String) async throws -> JSONValue? {
            let answer = try await gateway.request(
                .post, "/v1/projects/demo/messages:send",
                #"{"message":{"topic":"news","notification":{"title":"Hi"}},"delivery":\#(delivery)}"#)
            let name = try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
            return try await gateway.request(.get, "/v1/\(name)").json["pace"]
        }
        #expect(try await pace(#"{"rate":7}"#) == .object([.init("rate", .number("7"))]))
        #expect(
            try await pace(#"{"finishBy":"2026-01-02T04:00:00Z"}"#)
                == .object([.init("finishBy", .string("2026-01-02T04:00:00.000Z"))]))
        #expect(try await pace("{}") == nil)
    }
}
