import HTTPTypes
import PushModel
import Store
import Testing

@testable import GatewayAPI

struct ValueTests {
    @Test(arguments: [(0, "0s"), (123, "0.123s"), (2000, "2s"), (61_005, "61.005s")])
    func durationsAreSeconds(milliseconds: Int64, text: String) {
        #expect(durationText(milliseconds: milliseconds) == text)
    }

    @Test(arguments: [
        ("plain", "plain"), ("A%3Ab%2Fc", "A:b/c"), ("news%2541", "news%41"), ("%e2%82%ac", "€"),
    ])
    func percentEncodingIsDecodedOnce(raw: String, decoded: String) {
        #expect(raw.percentDecoded == decoded)
    }

    @Test(arguments: ["%", "%4", "%zz", "%ff"])
    func brokenPercentEncodingIsRefused(raw: String) {
        #expect(raw.percentDecoded == nil)
    }

    @Test(arguments: [
        ("outcome=rejected", LedgerOutcome.rejected), ("outcome = \"REJECTED\"", .rejected),
        (" outcome =accepted ", .accepted), ("outcome=\"cancelled\"", .cancelled),
    ])
    func filtersNameAnOutcome(filter: String, outcome: LedgerOutcome) throws {
        #expect(try Filter<LedgerOutcome>("outcome", filter).value == outcome)
    }

    @Test(arguments: ["rejected", "outcome=lost", "outcome!=rejected", "outcome=\"rejected", "reason=BadTopic", ""])
    func otherFiltersAreRefusedByName(filter: String) throws {
        let error = #expect(throws: FCMError.self) { try Filter<LedgerOutcome>("outcome", filter).value }
        #expect(error?.violations.map(\.field) == ["filter"])
    }

    @Test func topicPageTokensComeBack() throws {
        for name in ["news", "a", "50%~off", "x-_.Y"] {
            let topic = try #require(Topic(rawValue: name))
            let token = TopicPageToken.text(after: topic)
            #expect(token.utf8.allSatisfy { $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "=") })
            #expect(try TopicPageToken.topic(token) == topic)
        }
        #expect(throws: FCMError.self) { try TopicPageToken.topic("not base64!") }
        #expect(throws: FCMError.self) { try TopicPageToken.topic("") }
    }
}

struct APIKeyTests {
    private let project = ProjectID(rawValue: "demo")!

    @Test func keysCarryTheirIDAndOnlyTheirDigestIsKept() throws {
        let key = APIKey(project: project, role: .sender, at: Timestamp(seconds: 1))
        #expect(key.text.wholeMatch(of: /hk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}/) != nil)
        #expect(APIKey.id(in: key.text) == key.record.id)
        #expect(key.record.digest.count == 32)
        #expect(APIKey.matches(key.text, key.record))
        #expect(!"\(key)".contains(key.text))
    }

    @Test func anotherTextDoesNotMatch() {
        let key = APIKey(project: project, role: .sender, at: Timestamp(seconds: 1))
        let other = APIKey(project: project, role: .sender, at: Timestamp(seconds: 1))
        #expect(other.text != key.text)
        #expect(!APIKey.matches(other.text, key.record))
        #expect(!APIKey.matches(key.text + "x", key.record))
        #expect(!APIKey.matches(String(key.text.dropLast()), key.record))
    }

    @Test(arguments: ["", "hk", "hk_", "hk_id", "hk_id_", "hk__secret", "xx_id_secret"])
    func otherTextsHaveNoID(text: String) {
        #expect(APIKey.id(in: text) == nil)
    }
}

struct RoutePathsTests {
    private let paths = RoutePaths(RouteTable.described)

    @Test(arguments: [
        ("/v1/projects/demo/messages:send", ["POST"]),
        ("/v1/projects/demo/messages", ["GET"]),
        ("/v1/projects/demo/messages/0:1-f", ["GET"]),
        ("/v1/projects/demo/registrations/x", ["GET", "PATCH", "DELETE"]),
        ("/v1/projects/demo/registrations/x/topicSubscriptions", ["POST", "GET"]),
        ("/iid/v1:batchAdd", ["POST"]),
        ("/healthz", ["GET"]),
        ("/v1/projects/demo/nothing", []),
        ("/", []),
    ])
    func aPathTakesTheMethodsOfItsRoutes(path: String, methods: [String]) {
        #expect(paths.methods(of: path).map(\.rawValue) == methods)
    }

    @Test func theRouteTableHasNoRouteTwice() {
        let routes = RouteTable.described.map { "\($0.method.rawValue) \($0.path)" }
        #expect(Set(routes).count == routes.count)
    }
}

struct ExportEventTests {
    @Test(arguments: [
        (LedgerOutcome.accepted, nil as String?, "MESSAGE_ACCEPTED"),
        (.rejected, "Unregistered", "UNAUTHORIZED_REGISTRATION"),
        (.rejected, "BadDeviceToken", "INVALID_REGISTRATION"),
        (.rejected, "PayloadTooLarge", "PAYLOAD_TOO_LARGE"),
        (.rejected, "InvalidProviderToken", "INVALID_APNS_CREDENTIAL"),
        (.rejected, "SomethingNew", "MESSAGE_RECEIVED_INTERNAL_ERROR"),
        (.rejected, nil, "MESSAGE_RECEIVED_INTERNAL_ERROR"),
        (.expired, "timed_out", "MESSAGE_EXPIRED"),
        (.cancelled, nil, "MESSAGE_CANCELLED"),
    ])
    func outcomesHaveFCMsNames(outcome: LedgerOutcome, reason: String?, event: String) {
        #expect(ExportEvent.name(of: outcome, reason: reason) == event)
    }
}
