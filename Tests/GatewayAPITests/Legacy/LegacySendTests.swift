import Delivery
import Foundation
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct LegacySendTests {
    static let title = #""notification":{"title":"Hi"}"#

    /// Sends with `Authorization: key=`, as the clients of this API do.
    private func send(_ members: String, to gateway: TestGateway) async throws -> Answer {
        let key = try #require(gateway.keys[.sender]).text
        return try await gateway.request(
            .post, "/fcm/send", "{\(members)}", as: nil, headers: [.authorization: "key=\(key)"])
    }

    private func results(_ answer: Answer) throws -> [JSONValue] {
        guard case .array(let results) = try answer.json["results"] else { return [] }
        return results
    }

    private func errors(_ answer: Answer) throws -> [String?] {
        try results(answer).map { $0["error"]?.stringValue }
    }

    /// The state of the message with this id, as its report tells it.
    private func state(of id: String, in gateway: TestGateway) async throws -> JSONValue? {
        try await gateway.request(.get, "/v1/projects/demo/messages/\(id)").json["state"]
    }

    @Test func aTokenGetsAMessageWhoseIDNamesItsReport() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        for name in [install.token, install.id] {
            let answer = try await send(#""to":"\#(name)",\#(Self.title)"#, to: gateway)
            #expect(answer.status == 200, "\(answer.text)")
            let json = try answer.json
            guard case .number(let multicast)? = json["multicast_id"] else {
                Issue.record("\(answer.text)")
                return
            }
            #expect(try #require(Int64(multicast)) > 0)
            #expect(json["success"] == .number("1") && json["failure"] == .number("0"))
            #expect(json["canonical_ids"] == .number("0"))
            let id = try #require(try results(answer).first?["message_id"]?.stringValue)
            #expect(id.hasPrefix("0:"))
            #expect(try await state(of: id, in: gateway) == .string("ACTIVE"))
        }
        #expect(try await gateway.claim(.interactive).count == 2)
    }

    @Test func eachTokenHasItsOwnResultInOrder() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register("01").token
        let ended = try await gateway.register("02")
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(ended.id)")
        let dev = try await gateway.register("03", app: "com.example.dev").token
        let foreign = try await gateway.foreignRegistration().token.rawValue
        let names = [
            token, "", "nonsense", "abcdefgh:APA91bunknown", ended.token, foreign, dev, token,
        ]
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await send(
            #""registration_ids":[\#(list)],\#(Self.title),"restricted_package_name":"com.example.app""#, to: gateway)
        #expect(answer.status == 200)
        #expect(
            try errors(answer) == [
                nil, "MissingRegistration", "InvalidRegistration", "NotRegistered", "NotRegistered", "MismatchSenderId",
                "InvalidPackageName", nil,
            ])
        #expect(try answer.json["success"] == .number("2"))
        #expect(try answer.json["failure"] == .number("6"))
        let ids = try results(answer).compactMap { $0["message_id"]?.stringValue }
        #expect(Set(ids).count == 2, "a message of its own for each")
        #expect(gateway.store.load.total.messages == 2)
        #expect(answer.headers[.retryAfter] == nil)
    }

    @Test func aThousandTokensAreTheMost() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        func body(_ count: Int) -> String {
            let list = Array(repeating: "\"\(token)\"", count: count).joined(separator: ",")
            return #""registration_ids":[\#(list)],\#(Self.title)"#
        }
        let most = try await send(body(1000), to: gateway)
        #expect(try most.json["success"] == .number("1000"))
        #expect(gateway.store.load.total.messages == 1000)
        let over = try await send(body(1001), to: gateway)
        #expect(over.status == 400)
        #expect(
            over.text == "InvalidParameters: Number of messages on bulk (1001) exceeds maximum allowed (1000)\n")
    }

    @Test func whoNamesNobodyIsMissingARegistration() async throws {
        let gateway = try await TestGateway()
        for target in ["", #""to":"","#, #""to":null,"#, #""registration_ids":[],"#] {
            let answer = try await send(target + Self.title, to: gateway)
            #expect(answer.status == 200)
            #expect(try errors(answer) == ["MissingRegistration"])
        }
    }

    @Test func whatIsWrongWithTheMessageIsEachTokensError() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let large = String(repeating: "x", count: 5000)
        let cases = [
            (#""data":{"from":"x"}"#, "InvalidDataKey"), (#""data":{"a":"b"},"time_to_live":-5"#, "InvalidTtl"),
            (#""data":{"a":"\#(large)"}"#, "MessageTooBig"),
            // The priority makes a block for Android too.
            (#""data":{"a":"\#(large)"},"priority":"high""#, "MessageTooBig"),
        ]
        for (message, error) in cases {
            let answer = try await send(
                #""registration_ids":["\#(token)","x","\#(token)"],\#(message)"#, to: gateway)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try errors(answer) == [error, "InvalidRegistration", error])
            for target in [#""to":"/topics/news""#, #""condition":"'news' in topics""#] {
                let broadcast = try await send("\(target),\(message)", to: gateway)
                #expect(broadcast.status == 200)
                #expect(broadcast.text == #"{"error":"\#(error)"}"#)
            }
        }
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test(arguments: [
        #""to":"/topics/news""#, #""condition":"'news' in topics && !('sport' IN Topics)""#,
        #""condition":"'news' In TOPICS || 'NEWS' in topics""#,
    ])
    func aTopicAndAConditionAnswerANumberThatNamesTheReport(target: String) async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(3)
        let answer = try await send("\(target),\(Self.title)", to: gateway)
        #expect(answer.status == 200, "\(answer.text)")
        guard case .number(let number)? = try answer.json["message_id"] else {
            Issue.record("\(answer.text)")
            return
        }
        #expect(answer.text == #"{"message_id":\#(number)}"#)
        #expect(Int64(number) != nil && number.utf8.count == 19)
        let report = try await gateway.request(.get, "/v1/projects/demo/messages/\(number)").json
        #expect(report["audience"] == .number("3"))
        #expect(try await gateway.claim(.bulk).count == 3)
    }

    @Test func aDryRunKeepsNothing() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let large = String(repeating: "x", count: 5000)
        let some = try await send(
            #""registration_ids":["\#(token)","x"],\#(Self.title),"dry_run":true"#, to: gateway)
        #expect(try errors(some) == [nil, "InvalidRegistration"])
        #expect(try results(some).first?["message_id"]?.stringValue?.hasPrefix("0:") == true)
        let tooBig = try await send(#""to":"\#(token)","data":{"a":"\#(large)"},"dry_run":true"#, to: gateway)
        #expect(try errors(tooBig) == ["MessageTooBig"])
        let topic = try await send(#""to":"/topics/news",\#(Self.title),"dry_run":true"#, to: gateway)
        #expect(topic.text.wholeMatch(of: /\{"message_id":[0-9]{19}\}/) != nil, "\(topic.text)")
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test(arguments: [
        ("{", "JSON_PARSING_ERROR: "), ("", "JSON_PARSING_ERROR: "),
        ("registration_id=x&data.a=b", "JSON_PARSING_ERROR: "),
        ("[]", "InvalidParameters: "), (#"{"to":7}"#, "InvalidParameters: Invalid value at 'to'"),
        (#"{"tо":"x"}"#, "InvalidParameters: Unknown name"),
        (#"{"to":"x","condition":"'a' in topics"}"#, "InvalidParameters: Must use only one"),
        (#"{"to":"x","registration_ids":["y"]}"#, "InvalidParameters: Must use only one"),
        (#"{"registration_ids":"x"}"#, "InvalidParameters: Invalid value at 'registration_ids'"),
        (#"{"registration_ids":[1]}"#, "InvalidParameters: Invalid value at 'registration_ids[0]'"),
        (#"{"to":"/topics/a b"}"#, "InvalidParameters: to:"),
        (#"{"condition":"'a' in topics AND 'b' in topics"}"#, "InvalidParameters: condition: malformed at byte 14"),
        (#"{"to":"/topics/a","data":7}"#, "InvalidParameters: data"),
    ])
    func whatCantBeReadIsToldInPlainText(body: String, text: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, "/fcm/send", body, as: .sender)
        #expect(answer.status == 400)
        #expect(answer.text.hasPrefix(text), "\(answer.text)")
        #expect(answer.headers[.contentType] == "text/plain; charset=UTF-8")
    }

    @Test func theKeyIsAskedFor() async throws {
        let gateway = try await TestGateway()
        let body = #"{"to":"/topics/news",\#(Self.title)}"#
        let none = try await gateway.request(.post, "/fcm/send", body, as: nil)
        #expect(none.status == 401)
        #expect(none.headers[.contentType] == "text/plain; charset=UTF-8")
        let wrong = try await gateway.request(
            .post, "/fcm/send", body, as: nil, headers: [.authorization: "key=AAAA:APA91bxyz"])
        #expect(wrong.status == 401)
        #expect(try await gateway.request(.post, "/fcm/send", body, as: .client).status == 403)
        for role in [Role.admin, .sender] {
            #expect(try await gateway.request(.post, "/fcm/send", body, as: role).status == 200)
        }
        #expect(try await gateway.request(.get, "/fcm/send").status == 405)
        let large = #"{"to":"x","data":{"a":"\#(String(repeating: "x", count: 2 << 20))"}}"#
        #expect(try await gateway.request(.post, "/fcm/send", large).status == 413)
    }

    @Test func whatAFullGatewayDoesNotTakeIsUnavailable() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 2
        let gateway = try await TestGateway(limits: limits)
        let token = try await gateway.register().token
        let list = Array(repeating: "\"\(token)\"", count: 3).joined(separator: ",")
        let some = try await send(#""registration_ids":[\#(list)],\#(Self.title)"#, to: gateway)
        #expect(some.status == 200)
        #expect(try errors(some) == [nil, nil, "Unavailable"])
        // Some clients send the whole call again when they see it.
        #expect(some.headers[.retryAfter] == nil)
        let none = try await send(#""to":"\#(token)",\#(Self.title)"#, to: gateway)
        #expect(none.status == 200)
        #expect(try errors(none) == ["Unavailable"])
        #expect(none.headers[.retryAfter] == "5")
        let topic = try await send(#""to":"/topics/news",\#(Self.title)"#, to: gateway)
        #expect(topic.text == #"{"error":"TopicsMessageRateExceeded"}"#)
        #expect(topic.headers[.retryAfter] == "5")
    }

    @Test func aStoreThatFailsIsToldBeforeAnythingIsKept() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await send(#""to":"abcdefgh:APA91bunknown",\#(Self.title)"#, to: gateway)
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "5")
    }

    @Test func anAppThatTheProjectDoesNotHaveAnyMoreIsAMismatch() async throws {
        let gateway = try await TestGateway()
        let demo = try #require(ProjectID(rawValue: "demo"))
        let gone = try await gateway.store.register(
            RegistrationRequest(
                project: demo, app: #require(AppID(rawValue: "com.example.gone")),
                address: .apple(#require(DeviceToken(hex: "05")), .production), appVersion: nil),
            at: TestGateway.startTime
        ).registration.token.rawValue
        #expect(try errors(await send(#""to":"\#(gone)",\#(Self.title)"#, to: gateway)) == ["MismatchSenderId"])
    }

    @Test func theArticleTellsEachError() throws {
        let article = try Checkout.text("Sources/herald/herald.docc/LegacyAPI.md")
        for error in LegacyError.allCases { #expect(article.contains("| `\(error.rawValue)` |"), "\(error)") }
    }
}
