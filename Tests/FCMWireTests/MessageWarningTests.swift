import FCMWire
import JSON
import PushModel
import Testing

/// What a sender is told of a message that is accepted all the same.
struct MessageWarningTests {
    private static let now = Timestamp(milliseconds: 1_767_323_045_678)

    private func warnings(_ text: String) throws -> [MessageWarning] {
        try FCMMessage(source: JSONValue(parsing: Array(text.utf8))).warnings(acceptedAt: Self.now)
    }

    @Test(arguments: [
        (#"{"apns":{"payload":{"aps":{"contentAvailable":1}}}}"#, "aps.contentAvailable", "content-available"),
        (#"{"apns":{"payload":{"aps":{"mutable_content":1}}}}"#, "aps.mutable_content", "mutable-content"),
        (#"{"apns":{"payload":{"aps":{"Badge":1}}}}"#, "aps.Badge", "badge"),
        (#"{"apns":{"payload":{"aps":{"threadId":"x"}}}}"#, "aps.threadId", "thread-id"),
        (#"{"apns":{"payload":{"aps":{"alert":{"titel":"x"}}}}}"#, "aps.alert.titel", "title"),
    ])
    func aMisspeltKeyIsTold(text: String, field: String, meant: String) throws {
        let warnings = try warnings(text)
        #expect(warnings.map(\.reason) == [.misspelledKey])
        #expect(warnings.map(\.field) == ["message.apns.payload.\(field)"])
        #expect(warnings.first?.description.contains("did you mean \(meant)?") == true)
    }

    @Test(arguments: [#"{"android":{"ttl":"5s"}}"#, #"{"android_v2":{}}"#, #"{"webpush":{},"android":{}}"#])
    func aMessageForOtherPlatformsAloneIsTold(text: String) throws {
        let content = try FCMMessage(source: JSONValue(parsing: Array(text.utf8)))
        #expect(content.emptyWarning(on: .apple)?.reason == .onlyOtherPlatforms)
        #expect(content.emptyWarning(on: text.contains("android") ? .android : .web) == nil)
    }

    @Test(arguments: ["1", "3600", "1767323045"])
    func anExpirationInThePastIsToldAndIsOneAttempt(seconds: String) throws {
        let text = #"{"notification":{"title":"t"},"apns":{"headers":{"apns-expiration":"\#(seconds)"}}}"#
        #expect(try warnings(text).map(\.field) == ["message.apns.headers.apns-expiration"])
        let content = try FCMMessage(source: JSONValue(parsing: Array(text.utf8)))
        #expect(content.timeToLive(acceptedAt: Self.now, on: .apple) == .once)
    }

    @Test(arguments: [
        "{}", #"{"notification":{"title":"t"},"android":{}}"#, #"{"data":{"a":"b"},"webpush":{}}"#,
        #"{"android":{},"apns":{}}"#, #"{"apns":{"headers":{"apns-expiration":"0"}}}"#,
        #"{"apns":{"headers":{"apns-expiration":"1767323046"}}}"#,
        #"{"apns":{"payload":{"aps":{"content-available":1,"score":7,"contentAvailable":null}}}}"#,
        #"{"apns":{"payload":{"contentAvailable":1}}}"#,
    ])
    func whatIsMeantIsNotTold(text: String) throws {
        #expect(try warnings(text) == [])
        #expect(try FCMMessage(source: JSONValue(parsing: Array(text.utf8))).emptyWarning(on: .apple) == nil)
    }

    @Test func manyStrangeKeysCostNoMoreThanAFew() throws {
        let keys = (0..<5000).map { #""badg\#($0 % 10)\#(String(repeating: "x", count: $0 % 200))\#($0)":1"# }
        let text = #"{"apns":{"payload":{"aps":{"badgee":1,\#(keys.joined(separator: ",")),"soundd":1}}}}"#
        #expect(try warnings(text).count <= 20)
    }
}
