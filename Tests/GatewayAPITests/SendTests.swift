import Delivery
import HTTPTypes
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct SendTests {
    private static let path = "/v1/projects/demo/messages:send"

    @Test func aMessageToATokenIsAcceptedAndCommitted() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, as: .sender)
        #expect(answer.status == 200)
        let name = try #require(try answer.json["name"]?.stringValue)
        #expect(answer.text == #"{"name":"\#(name)"}"#)
        let id = try #require(MessageID(rawValue: String(name.dropFirst("projects/demo/messages/".count))))
        let demo = try #require(ProjectID(rawValue: "demo"))
        #expect(try await gateway.store.message(id, in: demo) != nil)
    }

    @Test func aFIDIsATargetInBothFields() async throws {
        let gateway = try await TestGateway()
        let id = try await gateway.register().id
        for field in ["fid", "token"] {
            #expect(try await gateway.send(#""\#(field)":"\#(id)""#).hasPrefix("projects/demo/messages/"))
        }
    }

    @Test func validateOnlyKeepsNothing() async throws {
        let gateway = try await TestGateway()
        for field in ["validate_only", "validateOnly"] {
            let answer = try await gateway.request(
                .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}},"\#(field)":true}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(gateway.store.activeMessages == 0)
        let demo = try #require(ProjectID(rawValue: "demo"))
        #expect(try await gateway.store.reports(in: demo, after: nil, limit: 10).elements.isEmpty)
    }

    @Test(arguments: ["nonsense", "short:short", "with space:APA91bxyzxyz"])
    func aMalformedTokenIsInvalid(token: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 400)
        #expect(try answer.errorCode == "INVALID_ARGUMENT")
        #expect(try answer.badFields == ["message.token"])
        #expect(try answer.errorMessage == "The registration token is not a valid FCM registration token")
    }

    @Test func unknownEndedAndForeignTokensAreUnregistered() async throws {
        let gateway = try await TestGateway()
        let ended = try await gateway.register("01")
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(ended.id)")
        let other = try #require(ProjectID(rawValue: "other"))
        let foreign = try await gateway.store.register(
            RegistrationRequest(
                project: other, app: #require(AppID(rawValue: "com.example.app")),
                deviceToken: #require(DeviceToken(hex: "02")), environment: .production, appVersion: nil),
            at: TestGateway.startTime
        ).registration
        for token in ["abcdefgh:APA91bunknown", ended.token, ended.id, foreign.token.rawValue, foreign.id.rawValue] {
            let answer = try await gateway.request(
                .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
            #expect(
                answer.text
                    == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#
            )
        }
    }

    @Test(arguments: [
        (#"{"message":{"topic":"news"},"validate":true}"#, ""),
        (#"{"message":{"topic":"news","notification":{"icon":"x"}}}"#, "message.notification"),
        (#"{"message":{"topic":"news","data":{"a":12}}}"#, "message.data[0].value"),
        (#"{"message":12}"#, "message"),
        (#"{"message":{"topic":"news"},"validate_only":"yes"}"#, "validate_only"),
    ])
    func theFrontEndNamesTheField(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
        #expect(try answer.errorCode == nil, "\(answer.text)")
        #expect(try answer.badFields == [field])
    }

    @Test(arguments: ["", "{", "nope", "{\"message\":{}} trailing", "{\"a\":\u{1}}"])
    func malformedJSONIsRefused(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try #require(try answer.errorMessage).hasPrefix("Invalid JSON payload received. "))
        #expect(try answer.errorCode == nil)
    }

    @Test func theRootMustBeAnObject() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, "[]")
        #expect(answer.status == 400)
        #expect(
            try answer.errorMessage
                == #"Invalid JSON payload received. Unknown name "": Root element must be a message."#)
    }

    @Test(arguments: [#"{}"#, #"{"message":{}}"#])
    func aTargetIsNeeded(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.errorCode == "INVALID_ARGUMENT", "\(answer.text)")
    }

    @Test func twoTargetsAreRefused() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"a","token":"abcdefgh:abcdefgh"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT", "\(answer.text)")
    }

    @Test func aFullGatewayRefusesWithQuotaExceeded() async throws {
        var limits = DeliveryLimits()
        limits.activeMessages = 1
        let gateway = try await TestGateway(limits: limits)
        _ = try await gateway.register("01")
        let token = try await gateway.register("02").token
        _ = try await gateway.send(#""token":"\#(token)""#)
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 429)
        #expect(try answer.errorCode == "QUOTA_EXCEEDED")
        #expect(answer.text.contains("google.rpc.QuotaFailure"))
        let seconds = try #require(answer.headers[.retryAfter].flatMap { Int($0) })
        #expect(seconds >= 1)
    }

    @Test func aStoppingGatewayIsUnavailable() async throws {
        let gateway = try await TestGateway()
        gateway.acceptor.stop()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 503)
        #expect(try answer.errorCode == "UNAVAILABLE")
    }

    @Test func aFailingStoreIsUnavailableAndNotQuoted() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"abcdefgh:APA91bxyz","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 503)
        #expect(try answer.errorCode == "UNAVAILABLE")
        #expect(!answer.text.contains("disk"))
    }

    @Test func aBodyOverTheLimitIsTooLarge() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 100)
        let answer = try await gateway.request(.post, Self.path, String(repeating: " ", count: 101))
        #expect(
            answer.text
                == #"{"error":{"code":413,"message":"Request payload size exceeds the limit: 100 bytes.","status":"INVALID_ARGUMENT"}}"#
        )
        #expect(answer.status == 413)
    }
}
