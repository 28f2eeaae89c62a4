import Delivery
import HTTPTypes
import HummingbirdCore
import JSON
import NIOCore
import PushModel
import Store
import Testing

@testable import GatewayAPI

struct ErrorAnswerTests {
    /// Our own detail with a reason and nothing else.
    private static func info(_ reason: ErrorReason, field: String? = nil) -> String {
        let field = field.map { #","field":"\#($0)""# } ?? ""
        return #"{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"\#(reason.rawValue)"\#(field)}"#
    }
    private static let fcm = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"#

    private func text(_ error: FCMError) -> String {
        String(decoding: error.body.bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (FCMError.Code.unregistered, 404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found."),
        (.senderIDMismatch, 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch"),
        (.internal, 500, "INTERNAL", "INTERNAL", "Internal error encountered."),
        (.unavailable, 503, "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable."),
    ])
    func fcmErrorsCarryTheirCode(code: FCMError.Code, status: Int, canonical: String, name: String, message: String) {
        #expect(
            text(FCMError(code))
                == #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(canonical)","details":[\#(Self.fcm)"\#(name)"},\#(Self.info(code.reason))]}}"#
        )
    }

    @Test func theFcmErrorStandsBeforeTheFields() {
        #expect(
            text(.invalid("message.token", "no token"))
                == #"{"error":{"code":400,"message":"no token","status":"INVALID_ARGUMENT","details":[\#(Self.fcm)"INVALID_ARGUMENT"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"no token"}]},\#(Self.info(.invalidField, field: "message.token"))]}}"#
        )
    }

    @Test func frontEndErrorsHaveNoFcmError() {
        #expect(
            text(.badRequest("ios.bundle_id", "unknown"))
                == #"{"error":{"code":400,"message":"unknown","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"ios.bundle_id","description":"unknown"}]},\#(Self.info(.invalidField, field: "ios.bundle_id"))]}}"#
        )
        #expect(
            text(FCMError(.notFound))
                == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[\#(Self.info(.unknownResource))]}}"#
        )
    }

    @Test(
        arguments: [
            (
                .messages, "gateway", .tooManyMessages,
                "Too many messages are waiting to be delivered (limits.messages)."
            ),
            (
                .bytes, "gateway", .tooManyBytes,
                "The messages that are waiting to be delivered are too large together (limits.bytes)."
            ),
            (
                .projectMessages, "project:demo", .tooManyProjectMessages,
                "Too many messages of the project are waiting to be delivered (limits.projectMessages)."
            ),
            (
                .projectBytes, "project:demo", .tooManyProjectBytes,
                "The project's messages that are waiting to be delivered are too large together (limits.projectBytes)."
            ),
        ] as [(WaitingLimit, String, ErrorReason, String)])
    func aFullGatewaySaysOfWhatAndWhenToComeBack(
        limit: WaitingLimit, subject: String, reason: ErrorReason, message: String
    ) throws {
        let project = TestGateway.project("demo", 1)
        let error = FCMError(.full(limit, retryAfter: .milliseconds(1200)), project: project)
        #expect(
            text(error)
                == #"{"error":{"code":429,"message":"\#(message)","status":"RESOURCE_EXHAUSTED","details":[\#(Self.fcm)"QUOTA_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)","description":"\#(message)"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"},\#(Self.info(reason))]}}"#
        )
        #expect(error.response(for: "/v1/projects/demo/messages:send").headers[.retryAfter] == "2")
        let soon = FCMError(.full(limit, retryAfter: .zero), project: project)
        #expect(soon.response(for: "/v1/projects/demo/messages:send").headers[.retryAfter] == "1")
    }

    @Test func aStoreWithoutAPlaceIsAFullGateway() throws {
        let busy = StoreError(.busy, "10000 writes of this kind (accept) wait", isOfWholeStore: true)
        let error = FCMError(.store(busy), project: TestGateway.project("demo", 1))
        #expect(error.code == .quotaExceeded && error.reason == .storeBusy)
        let response = error.response(for: "/v1/projects/demo/messages:send")
        #expect(response.status == .tooManyRequests && response.headers[.retryAfter] == "5")
        #expect(text(error).contains(#""status":"RESOURCE_EXHAUSTED""#))
    }

    @Test func whatIsUnavailableSaysWhenToComeBack() async throws {
        let stopping = FCMError(.stopping, project: TestGateway.project("demo", 1))
        #expect(stopping.response(for: "/v1/projects/demo/messages:send").headers[.retryAfter] == "5")
        let gateway = try await TestGateway(isBroken: true)
        for path in ["/v1/projects/demo/messages", "/v1/projects/demo/export"] {
            let answer = try await gateway.request(.get, path)
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] == "5")
        }
        #expect(FCMError(.internal).response(for: "/").headers[.retryAfter] == nil)
    }

    @Test func theInstanceIDAPIHasBareStrings() async throws {
        let response = FCMError(.badRequest, "to is missing").response(for: "/iid/v1:batchAdd")
        #expect(response.status.code == 400)
        let collected = try #require(response.body.contentLength)
        #expect(collected == #"{"error":"to is missing"}"#.utf8.count)
    }

    @Test func whatGoesWrongInsideIsNotTold() {
        struct Secret: Error { let token = "hk_1_2" }
        let inner = FCMError(any: Secret())
        #expect(inner.code == .internal)
        #expect(!text(inner).contains("hk_"))
        let store = FCMError(any: StoreError(.failed, "disk full: /var/lib/herald"))
        #expect(store.code == .unavailable)
        #expect(!text(store).contains("/var"))
    }

    @Test func aClosedConnectionIsNoErrorOfTheGateway() {
        let errors: [any Error] = [
            CancellationError(), ChannelError.inputClosed, ChannelError.ioOnClosedChannel,
            IOError(errnoCode: 104, reason: "read"),
        ]
        for error in errors { #expect(FCMError(any: error).code == .badRequest) }
    }
}
