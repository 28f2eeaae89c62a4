import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

/// The hints in errors, and the warnings in answers.
@Suite(.timeLimit(.minutes(5)))
struct SenderHintTests {
    private static let send = "/v1/projects/demo/messages:send"
    private static let google = "cAAAAAAAAAAAAAAAAAAAAA:APA91b" + String(repeating: "x", count: 134)

    @Test(arguments: [
        (send, #"{"message":{"token":"\#("0a".deviceToken)","notification":{"title":"Hi"}}}"#, "APNs device token"),
        (send, #"{"message":{"token":"\#(google)","notification":{"title":"Hi"}}}"#, "Google issued"),
        (send, #"{"to":"x","notification":{"title":"Hi"}}"#, "/fcm/send"),
        (send, #"{"registration_ids":["x"],"data":{"a":"b"}}"#, "/fcm/send"),
        (send, #"{"message":{"to":"x","notification":{"title":"Hi"}}}"#, "one of token, topic and condition"),
        (send, #"{"token":"x","notification":{"title":"Hi"}}"#, "an object of its own"),
        (send, #"{"topic":"x"}"#, "an object of its own"), (send, "", "no body"),
        ("/v1/projects/demo/registrations", "", "no body"),
        (
            "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#("0a".deviceToken)","bundle_id":"com.exmaple.app"}}"#,
            "did you mean com.example.app?"
        ),
        (
            "/v1/projects/demo/registrations:liftQuarantine", #"{"app":"com.example.ap"}"#,
            "did you mean com.example.app?"
        ),
        ("/v1/projects/dmeo/messages:send", #"{"message":{"topic":"x"}}"#, "did you mean demo?"),
        ("/v1/projects/demo/messages/send", #"{"message":{"topic":"x"}}"#, "did you mean /messages:send?"),
        ("/v1/projects/demo/messages%3Asend", #"{"message":{"topic":"x"}}"#, "did you mean /messages:send?"),
        ("/projects/demo/messages:send", "{}", "did you mean /v1/projects/demo/messages:send?"),
    ])
    func aLikelyMistakeHasAHint(path: String, body: String, hint: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, path, body)
        #expect(answer.status >= 400)
        #expect(try answer.hint?.contains(hint) == true, "\(answer.text)")
    }

    @Test(arguments: [
        (send, #"{"message":{"token":"nonsense","notification":{"title":"Hi"}}}"#),
        (send, #"{"message":{"token":"abcdefgh:APA91bxyz","notification":{"title":"Hi"}}}"#),
        (send, #"{"message":{"topic":"x","icon":"y"}}"#), (send, "{"),
        ("/v1/projects/other/messages:send", #"{"message":{"topic":"x"}}"#),
        ("/v1/projects/demo/registrations", #"{"ios":{"apns_token":"\#("0a".deviceToken)","bundle_id":"org.x"}}"#),
        ("/v1/nothing", "{}"),
    ])
    func otherErrorsHaveNone(path: String, body: String) async throws {
        let answer = try await TestGateway().request(.post, path, body)
        #expect(answer.status >= 400)
        #expect(try answer.hint == nil, "\(answer.text)")
    }

    @Test(arguments: [
        ("Bearer AIza" + String(repeating: "x", count: 35), "API key of Google's"),
        ("key=AAAAbbbbccc:APA91b" + String(repeating: "x", count: 134), "server key of the legacy API"),
        ("Bearer ya29.a0AfH6SMBx", "access token of Google's"),
    ])
    func aCredentialOfGooglesIsToldApart(authorization: String, hint: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.send, "{}", as: nil, headers: [.authorization: authorization])
        #expect(answer.status == 401)
        #expect(try answer.hint?.contains(hint) == true, "\(answer.text)")
        #expect(!answer.text.contains("xxx"))
    }

    @Test func aKeyWithoutBearerHasAHint() async throws {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.sender]).text
        let answer = try await gateway.request(.post, Self.send, "{}", as: nil, headers: [.authorization: key])
        #expect(answer.status == 401)
        #expect(try answer.hint?.contains("write Bearer") == true)
        #expect(!answer.text.contains(key))
        let none = try await gateway.request(.post, Self.send, "{}", as: nil, headers: [.authorization: "Basic eA=="])
        #expect(try none.hint == nil)
    }

    @Test func aTokenOfTheGatewayIsNoneOfGoogles() async throws {
        let gateway = try await TestGateway()
        let token = try #require(RegistrationToken(rawValue: try await gateway.register().token))
        #expect(!token.isOfGoogle)
        #expect(try #require(RegistrationToken(rawValue: Self.google)).isOfGoogle)
    }

    @Test func aDeviceTokenAmongManyTokensHasAHint() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:batchSend",
            #"{"message":{"notification":{"title":"Hi"}},"tokens":["nonsense","\#("0a".deviceToken)"]}"#)
        let responses = try #require(try answer.list("responses")).map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(responses.map { $0.contains("MALFORMED_TOKEN") } == [true, true])
        #expect(responses.map { $0.contains("APNs device token") } == [false, true])
    }

    // MARK: - Warnings

    private static let message =
        #""topic":"news","notification":{"title":"Hi"},"apns":{"payload":{"aps":{"contentAvailable":1}}}"#
    private static let warning =
        #"{"reason":"MISSPELLED_KEY","field":"message.apns.payload.aps.contentAvailable","description":"Apple has no key contentAvailable: did you mean content-available? It is sent as it is."}"#

    @Test func anAcceptedMessageHasItsWarningsBesideTheName() async throws {
        let gateway = try await TestGateway()
        let body = #"{"message":{\#(Self.message)}}"#
        let key: HTTPFields = [.idempotencyKey: "k"]
        let first = try await gateway.request(.post, Self.send, body, as: .sender, headers: key)
        #expect(first.status == 200)
        let name = try #require(try first.json["name"]?.stringValue)
        #expect(first.text == #"{"name":"\#(name)","warnings":[\#(Self.warning)]}"#)
        let again = try await gateway.request(.post, Self.send, body, as: .sender, headers: key)
        #expect(again.text == first.text)
        let dry = try await gateway.request(
            .post, Self.send, #"{"message":{\#(Self.message)},"validate_only":true}"#, as: .sender)
        #expect(dry.text.contains(#""warnings":[\#(Self.warning)]"#), "\(dry.text)")
        let plain = try await gateway.request(
            .post, Self.send, #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#)
        #expect(try plain.json["warnings"] == nil)
    }

    @Test(arguments: ["", #","validate_only":true"#])
    func eachMessageOfABatchHasItsOwnWarnings(more: String) async throws {
        let gateway = try await TestGateway()
        let path = "/v1/projects/demo/messages:batchSend"
        let good = #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#
        let batch = try await gateway.request(
            .post, path, #"{"messages":[\#(good),{"message":{\#(Self.message)}}]\#(more)}"#, as: .sender)
        let responses = try #require(try batch.list("responses"))
        #expect(responses.map { $0["warnings"] != nil } == [false, true], "\(batch.text)")
        let token = try await gateway.register().token
        let aps = #"{"apns":{"payload":{"aps":{"alert":"Hi","contentAvailable":1}}}}"#
        let many = try await gateway.request(
            .post, path, #"{"message":\#(aps),"tokens":["\#(token)"]\#(more)}"#, as: .sender)
        #expect(many.text.contains(#""warnings":[\#(Self.warning)]"#), "\(many.text)")
    }

    @Test func aWaitingSenderHasTheWarningsToo() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(
            .post, Self.send,
            #"{"message":{"token":"\#(token)","android":{}},"delivery":{"wait":"0.001s"}}"#, as: .sender)
        #expect(answer.status == 200)
        #expect(answer.text.contains("ONLY_OTHER_PLATFORMS"), "\(answer.text)")
    }
}

extension Answer {
    /// `metadata.hint` of our own detail.
    fileprivate var hint: String? {
        get throws {
            guard case .array(let details)? = try json["error"]?["details"] else { return nil }
            return details.last?["metadata"]?["hint"]?.stringValue
        }
    }
}
