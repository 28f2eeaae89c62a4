import HTTPTypes
import JSON
import PushModel
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(2)))
struct DeliveryOptionTests {
    private static let now = TestGateway.startTime

    private func request(_ rest: String, message: String = #"{"topic":"a"}"#) throws -> SendRequest {
        let text = #"{"message":\#(message)\#(rest)}"#
        return try SendRequest(ObjectReader(root: JSONValue(parsing: text.utf8)), at: Self.now)
    }

    @Test func whoSaysNothingGetsTheDefaults() throws {
        for rest in ["", #","delivery":null"#, #","delivery":{}"#, #","delivery":{"rate":null}"#] {
            #expect(try request(rest).item.options == DeliveryOptions())
        }
    }

    @Test(arguments: [
        (#"{"rate":500}"#, DeliveryOptions(rate: 500)), (#"{"rate":"500"}"#, DeliveryOptions(rate: 500)),
        (#"{"rate":5e2}"#, DeliveryOptions(rate: 500)), (#"{"rate":500.0}"#, DeliveryOptions(rate: 500)),
        (#"{"rate":1,"collapseRepeats":false}"#, DeliveryOptions(rate: 1, collapsesRepeats: false)),
        (#"{"collapse_repeats":true}"#, DeliveryOptions()),
        (
            #"{"finishBy":"2026-01-02T03:10:00Z"}"#,
            DeliveryOptions(finishBy: Timestamp(rfc3339: "2026-01-02T03:10:00Z"))
        ),
        (
            #"{"finish_by":"2026-01-02T04:10:00+01:00"}"#,
            DeliveryOptions(finishBy: Timestamp(rfc3339: "2026-01-02T03:10:00Z"))
        ),
    ])
    func optionsAreReadAsProtoJSONHasThem(text: String, options: DeliveryOptions) throws {
        #expect(try request(#","delivery":\#(text)"#).item.options == options)
    }

    @Test("finishBy lies within the longest life on the platforms that the project serves")
    func finishByOfEachPlatform() throws {
        func isTaken(_ message: String, _ time: String, _ platforms: [Platform]) throws -> Bool {
            let text = #"{"message":{"topic":"a",\#(message)},"delivery":{"finishBy":"\#(time)"}}"#
            let body = try ObjectReader(root: JSONValue(parsing: text.utf8))
            do {
                _ = try SendRequest(body, at: Self.now, to: platforms)
                return true
            } catch {
                #expect(error.violations.map(\.field) == ["delivery.finishBy"], "\(error.message)")
                return false
            }
        }
        let (soon, late) = ("2026-01-02T03:04:30Z", "2026-01-02T04:00:00Z")
        let android = #""android":{"ttl":"60s"}"#
        #expect(try isTaken(android, soon, [.android]) && !isTaken(android, late, [.android]))
        #expect(try isTaken(android, late, [.apple, .android]) && isTaken(android, late, []))
        let once = #""apns":{"headers":{"apns-expiration":"0"}}"#
        #expect(try !isTaken(once, soon, [.apple]) && isTaken(once, soon, [.android]))
        #expect(try isTaken(once, late, [.apple, .web]))
    }

    @Test(arguments: [
        (#"{"rate":0}"#, "delivery.rate", false), (#"{"rate":-1}"#, "delivery.rate", false),
        (#"{"rate":1.5}"#, "delivery.rate", true), (#"{"rate":true}"#, "delivery.rate", true),
        (#"{"rate":"x"}"#, "delivery.rate", true), (#"{"rate":99999999999}"#, "delivery.rate", true),
        (#"{"rate":[1]}"#, "delivery.rate", true), (#"{"pace":1}"#, "delivery", true), ("7", "delivery", true),
        ("[]", "delivery", true), (#"{"finishBy":"soon"}"#, "delivery.finish_by", true),
        (#"{"finishBy":5}"#, "delivery.finish_by", true),
        (#"{"finishBy":"2026-01-02T03:04:05.678Z"}"#, "delivery.finishBy", false),
        (#"{"finishBy":"2026-03-01T00:00:00Z"}"#, "delivery.finishBy", false),
        (#"{"rate":1,"finishBy":"2026-01-02T03:10:00Z"}"#, "delivery", false),
        (#"{"startTime":"2026-01-02T03:10:00Z"}"#, "delivery.startTime", false),
        (#"{"start_time":1}"#, "delivery.startTime", false),
        (#"{"collapseRepeats":1}"#, "delivery.collapse_repeats", true),
    ])
    func otherOptionsAreRefusedWithTheirPath(text: String, field: String, isFrontEnd: Bool) throws {
        let error = try #require(throws: FCMError.self) { try request(#","delivery":\#(text)"#) }
        #expect(error.violations.map(\.field) == [field], "\(error.message)")
        #expect(error.code == (isFrontEnd ? .badRequest : .invalidArgument))
    }

    @Test(arguments: [
        (
            #"{"wait":"5m"}"#,
            "Invalid value at 'delivery.wait' (type.googleapis.com/google.protobuf.Duration), Field 'wait', "
                + "Illegal duration format; duration must end with 's'"
        ),
        (
            #"{"finishBy":"soon"}"#,
            "Invalid value at 'delivery.finish_by' (type.googleapis.com/google.protobuf.Timestamp), "
                + "Field 'finish_by', Invalid time format: soon"
        ),
    ])
    func aMalformedTextIsRefusedInTheWordsOfTheMessagesFields(text: String, problem: String) throws {
        let error = try #require(throws: FCMError.self) { try request(#","delivery":\#(text)"#) }
        #expect(error.message == problem)
    }

    @Test func scheduledMessagesAreRefusedInClearWords() throws {
        let error = try #require(throws: FCMError.self) {
            try request(#","delivery":{"startTime":"2026-01-02T03:10:00Z"}"#)
        }
        #expect(error.message.hasPrefix("delivery.startTime is reserved"))
    }

    @Test func aMessageThatIsTriedOnceHasNoTimeToFinishBy() throws {
        let once = #"{"topic":"a","apns":{"headers":{"apns-expiration":"0"}}}"#
        let error = try #require(throws: FCMError.self) {
            try request(#","delivery":{"finishBy":"2026-01-02T03:10:00Z"}"#, message: once)
        }
        #expect(error.violations.map(\.field) == ["delivery.finishBy"])
    }

    @Test func aUserIsATargetBesideTheMessage() throws {
        let item = try request(#","target":{"user":"alice"}"#, message: "{}").item
        #expect(item.target == .user(UserID(rawValue: "alice")!))
    }

    @Test(arguments: [
        (#"{"topic":"a"}"#, #"{"user":"alice"}"#, "target", false), ("{}", "{}", "target", false),
        ("{}", #"{"user":""}"#, "target.user", false), ("{}", #"{"user":1}"#, "target.user", true),
        ("{}", #"{"users":["a"]}"#, "target", true), ("{}", #""alice""#, "target", true),
    ])
    func otherTargetsBesideTheMessageAreRefused(message: String, target: String, field: String, isFrontEnd: Bool) throws
    {
        let error = try #require(throws: FCMError.self) { try request(#","target":\#(target)"#, message: message) }
        #expect(error.violations.map(\.field) == [field], "\(error.message)")
        #expect(error.code == (isFrontEnd ? .badRequest : .invalidArgument))
    }

    @Test(arguments: ["a", String(repeating: "k", count: 255), "!~"])
    func visibleASCIIIsAnIdempotencyKey(key: String) throws {
        #expect(try IdempotencyHeader.key(in: [.idempotencyKey: key]) == key)
        #expect(try IdempotencyHeader.key(in: [:]) == nil)
    }

    @Test(arguments: ["", String(repeating: "k", count: 256), "a b", "é", "a\tb"])
    func otherTextsAreNone(key: String) throws {
        let error = try #require(throws: FCMError.self) { try IdempotencyHeader.key(in: [.idempotencyKey: key]) }
        #expect(error.code == .badRequest)
    }
}
