import Delivery
import Foundation
import HTTPTypes
import HummingbirdCore
import JSON
import PushModel
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// The precise cause in each error, and the errors that APNs' refusals are.
struct ErrorReasonTests {
    private static let send = "/v1/projects/demo/messages:send"

    private static func item(_ message: String) throws -> SendItem {
        try SendItem(
            ObjectReader(root: JSONValue(parsing: Array(#"{"message":\#(message)}"#.utf8))), at: TestGateway.startTime)
    }

    private static func error(
        _ reason: String, _ message: String = #"{"token":"abcdefgh:APA91bxyz","notification":{"title":"Hi"}}"#,
        on platform: Platform = .apple, _ refusals: RefusalCatalog = .sample
    ) throws -> FCMError {
        try #require(
            try FCMError(
                DeliveryEnd(outcome: .rejected, reason: reason), of: item(message), on: platform,
                name: "projects/demo/messages/m", refusals))
    }

    @Test(
        arguments: [
            (
                .android, Refusal("SENDER_ID_MISMATCH", .addressDoubtful), "SENDER_ID_MISMATCH",
                "REGISTRATION_OF_OTHER_PROJECT"
            ),
            (.android, Refusal("UNREGISTERED", .addressDead(since: nil)), "UNREGISTERED", "DEVICE_UNREGISTERED"),
            (
                .android, Refusal("PERMISSION_DENIED", .credential), "THIRD_PARTY_AUTH_ERROR",
                "UPSTREAM_CREDENTIAL_REFUSED"
            ),
            (
                .android, Refusal("THIRD_PARTY_AUTH_ERROR", .push(.unspecified)), "THIRD_PARTY_AUTH_ERROR",
                "UPSTREAM_CREDENTIAL_REFUSED"
            ),
            (.web, Refusal("Unauthorized", .credential), "THIRD_PARTY_AUTH_ERROR", "UPSTREAM_CREDENTIAL_REFUSED"),
            (.web, Refusal("SubscriptionGone", .addressDead(since: nil)), "UNREGISTERED", "DEVICE_UNREGISTERED"),
        ] as [(Platform, Refusal, String, String)])
    func otherPlatformsRefusalsAreToldInTheirOwnWords(
        platform: Platform, refusal: Refusal, code: String, cause: String
    ) throws {
        let catalog = RefusalCatalog([RefusalCatalog.Entry(refusal, meaning: "It means this.")])
        let error = try Self.error(refusal.reason.rawValue, on: platform, catalog)
        #expect(error.code.errorCode == code && error.reason.rawValue == cause)
        #expect(error.metadata["upstreamReason"] == refusal.reason.rawValue && error.metadata["apnsReason"] == nil)
        if code == "THIRD_PARTY_AUTH_ERROR" { #expect(error.message == "It means this.") }
    }

    @Test func theArticleHasALineForEachReason() throws {
        let article = try Checkout.text("Sources/herald/herald.docc/Errors.md")
        for reason in ErrorReason.allCases {
            #expect(article.contains("\n| `\(reason.rawValue)` | "), "\(reason.rawValue)")
        }
    }

    @Test(arguments: [
        ("{", "MALFORMED_JSON"), ("[]", "MALFORMED_JSON"),
        (#"{"message":{"topic":"news","icon":"x"}}"#, "UNKNOWN_FIELD"), (#"{"message":{"topic":5}}"#, "WRONG_TYPE"),
        (#"{"message":{"notification":{"title":"Hi"}}}"#, "MISSING_TARGET"),
        (#"{"message":{"token":"x","notification":{"title":"Hi"}}}"#, "MALFORMED_TOKEN"),
        (#"{"message":{"topic":"a b","notification":{"title":"Hi"}}}"#, "MALFORMED_TOPIC"),
        (#"{"message":{"condition":"a","notification":{"title":"Hi"}}}"#, "MALFORMED_CONDITION"),
        (#"{"message":{"fid":"x","notification":{"title":"Hi"}}}"#, "MALFORMED_TOKEN"),
        (#"{"message":{"token":"abcdefgh:APA91bxyz","notification":{"title":"Hi"}}}"#, "REGISTRATION_UNKNOWN"),
        (#"{"message":{"topic":"news","data":{"from":"me"}}}"#, "INVALID_DATA_KEY"),
        (
            #"{"message":{"topic":"news","notification":{"title":"Hi"},"apns":{"headers":{"apns-priority":"7"}}}}"#,
            "INVALID_APNS_HEADER"
        ),
        (#"{"message":{"notification":{"title":"Hi"}},"target":{"user":"no-one"}}"#, "USER_UNKNOWN"),
        (
            #"{"message":{"topic":"news","notification":{"title":"\#(String(repeating: "x", count: 5000))"}}}"#,
            "PAYLOAD_TOO_LARGE"
        ),
        (
            #"{"message":{"topic":"news","data":{"a":"\#(String(repeating: "x", count: 5000))"},"android":{"ttl":"1s"}}}"#,
            "PAYLOAD_TOO_LARGE"
        ),
        (#"{"message":{"topic":"news","android":{"ttl":"soon"}}}"#, "WRONG_TYPE"),
        (#"{"message":{"topic":"news","android":{"notification":{"event_time":"soon"}}}}"#, "WRONG_TYPE"),
        (#"{"message":{"topic":"news"},"delivery":{"wait":"soon"}}"#, "WRONG_TYPE"),
        (#"{"message":{"topic":"news"},"delivery":{"finishBy":"soon"}}"#, "WRONG_TYPE"),
    ])
    func eachCauseOfARefusedSendHasItsOwnReason(body: String, reason: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.send, body)
        #expect((400...404).contains(answer.status))
        #expect(try answer.reason == reason, "\(answer.text)")
    }

    @Test func theCallersTroubleHasItsOwnReasons() async throws {
        let gateway = try await TestGateway()
        let reasons = [
            try await gateway.request(.post, Self.send, "{}", as: nil).reason,
            try await gateway.request(.post, Self.send, "{}", as: nil, headers: [.authorization: "Bearer hk_x_y"])
                .reason,
            try await gateway.request(.post, Self.send, "{}", as: .client).reason,
            try await gateway.request(.post, "/v1/projects/other/messages:send", "{}").reason,
            try await gateway.request(.get, "/v1/nothing").reason,
            try await gateway.request(.delete, Self.send).reason,
            try await gateway.request(.get, "/v1/projects/demo/messages?pageToken=x").reason,
            try await TestGateway(isBroken: true).request(.get, "/v1/projects/demo/messages").reason,
        ]
        #expect(
            reasons == [
                "MISSING_CREDENTIAL", "INVALID_CREDENTIAL", "ROLE_NOT_ALLOWED", "OTHER_PROJECT", "UNKNOWN_PATH",
                "METHOD_NOT_ALLOWED", "INVALID_PAGE_TOKEN", "STORE_UNAVAILABLE",
            ])
    }

    @Test func everyRefusalThatCanEndADeliveryHasARow() {
        // What reaches `other` is the gateway's own fault, or news.
        let others = Refusal.samples.filter { refusal in
            (refusal.scope.isFinal || refusal.scope.isAboutCredential)
                && Rejection(refusal.scope, on: .apple).reason == Rejection.other.reason
        }
        #expect(others == [.duplicateHeaders, .badPath])
    }

    @Test(arguments: Refusal.samples.map(\.reason.rawValue) + ["no_route", "InvalidMessage", "NewReason", ""])
    func noRefusalMakesASenderSendAgainByItself(reason: String) throws {
        let error = try Self.error(reason)
        #expect([400, 401, 404].contains(error.code.httpStatus))
        let response = error.response(for: Self.send)
        #expect(response.headers[.retryAfter] == nil)
        #expect(response.headers[.wwwAuthenticate] == nil)
        #expect(error.metadata["message"] == "projects/demo/messages/m")
    }

    @Test(
        arguments: [
            ("Unregistered", "UNREGISTERED", "DEVICE_UNREGISTERED", nil),
            ("ExpiredToken", "UNREGISTERED", "DEVICE_UNREGISTERED", nil),
            ("BadDeviceToken", "INVALID_ARGUMENT", "DEVICE_TOKEN_REFUSED", "message.token"),
            ("DeviceTokenNotForTopic", "INVALID_ARGUMENT", "DEVICE_TOKEN_REFUSED", "message.token"),
            ("PayloadTooLarge", "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE", "message"),
            ("BadPriority", "INVALID_ARGUMENT", "HEADER_REFUSED", "message.apns.headers.apns-priority"),
            ("InvalidProviderToken", "THIRD_PARTY_AUTH_ERROR", "APNS_CREDENTIAL_REFUSED", nil),
            ("BadEnvironmentKeyInToken", "THIRD_PARTY_AUTH_ERROR", "APNS_CREDENTIAL_REFUSED", nil),
            ("TopicDisallowed", "THIRD_PARTY_AUTH_ERROR", "APNS_CREDENTIAL_REFUSED", nil),
            ("no_route", "THIRD_PARTY_AUTH_ERROR", "NO_UPSTREAM", nil),
            ("NewReason", "INVALID_ARGUMENT", "PUSH_REFUSED", nil),
        ] as [(String, String, String, String?)])
    func aRefusalIsTheErrorThatFCMHasForIt(reason: String, code: String, cause: String, field: String?) throws {
        let error = try Self.error(reason)
        #expect(error.code.errorCode == code)
        #expect(error.reason.rawValue == cause)
        #expect(error.violations.map(\.field) == [field].compactMap(\.self))
        #expect(error.metadata["apnsReason"] == reason)
        if code == "THIRD_PARTY_AUTH_ERROR" { #expect(error.message == "Auth error from APNS or Web Push Service") }
        if code == "UNREGISTERED" { #expect(error.message == "Requested entity was not found.") }
    }

    @Test func aRegistrationIsNotBlamedForTheTokenOfALiveActivity() throws {
        let activity = """
            {"token":"abcdefgh:APA91bxyz","apns":{"live_activity_token":"\(activityToken)","payload":{"aps":
            {"timestamp":1,"event":"update","content-state":{}}}}}
            """
        for reason in ["ExpiredToken", "Unregistered", "BadDeviceToken"] {
            let error = try Self.error(reason, activity)
            #expect(error.code == .invalidArgument)
            #expect(error.reason == .activityTokenRefused)
            #expect(error.violations.map(\.field) == ["message.apns.live_activity_token"])
        }
        let fid = try Self.error("BadDeviceToken", #"{"fid":"cAAAAAAAAAAAAAAAAAAAAA","notification":{"title":"Hi"}}"#)
        #expect(fid.violations.map(\.field) == ["message.fid"])
    }

    @Test func endsThatAreNoRefusalAreNoErrors() throws {
        let item = try Self.item(#"{"topic":"x","notification":{"title":"Hi"}}"#)
        for outcome in [LedgerOutcome.accepted, .expired, .cancelled] {
            let end = DeliveryEnd(outcome: outcome, reason: "x")
            #expect(FCMError(end, of: item, on: .apple, name: "m", .sample) == nil)
        }
    }
}
