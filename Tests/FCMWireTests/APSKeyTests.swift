import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

/// A key of Apple's tables of `aps` keys, written down a second time: values that are taken and values that are not.
struct APSKeyRow: Sendable, CustomTestStringConvertible {
    /// Below `aps`, such as `alert.loc-args`.
    let path: String
    let good: [String]
    let bad: [String]
    /// Members of the message's `apns` block and of `aps` that the key needs beside it.
    var beside = Beside.nothing
    /// A member that the key needs inside its own object.
    var sibling = ""

    enum Beside: Sendable {
        case nothing
        case start
        case widgets
    }

    var testDescription: String { path }

    /// The message with `value` under the key.
    func message(_ value: String) -> String {
        let names = path.split(separator: ".")
        let innermost = sibling.isEmpty ? value : "\(value),\(sibling)"
        let member = names.dropFirst().reversed().reduce(innermost) { #"{"\#($1)":\#($0)}"# }
        let own = #""\#(names[0])":\#(member)"#
        switch beside {
        case .nothing: return #"{"apns":{"payload":{"aps":{\#(own)}}}}"#
        case .start:
            let aps = LiveActivityTests.start.dropLast()
            return #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":\#(aps),\#(own)}}}}"#
        case .widgets:
            return #"{"apns":{"headers":{"apns-push-type":"widgets"},"payload":{"aps":{\#(own)}}}}"#
        }
    }

    private static let text = ["1", "true", "[]", "{}"]
    private static let texts = [#""a""#, "1", "{}", "[1]", "[null]"]
    private static let times = [#""1700000000""#, "-1", "1700000000000", "true"]
    private static let flags = [#""1""#, "2", "-1", "0.5", "[]"]

    private static func string(_ path: String, _ good: String = #""x""#, sibling: String = "") -> APSKeyRow {
        APSKeyRow(path: path, good: [good, #""""#], bad: text, sibling: sibling)
    }

    private static func list(_ path: String, key: String) -> APSKeyRow {
        APSKeyRow(path: path, good: ["[]", #"["a","b"]"#], bad: texts, sibling: #""\#(key)":"k""#)
    }

    static let all: [APSKeyRow] = [
        APSKeyRow(path: "alert", good: [#""x""#, "{}", #"{"of-the-future":[1]}"#], bad: ["1", "[]", "true"]),
        string("alert.title"),
        string("alert.subtitle"),
        string("alert.body"),
        string("alert.launch-image"),
        string("alert.title-loc-key"),
        list("alert.title-loc-args", key: "title-loc-key"),
        string("alert.subtitle-loc-key"),
        list("alert.subtitle-loc-args", key: "subtitle-loc-key"),
        string("alert.loc-key"),
        list("alert.loc-args", key: "loc-key"),
        string("alert.action"),
        string("alert.action-loc-key"),
        string("alert.summary-arg"),
        APSKeyRow(path: "alert.summary-arg-count", good: ["0", "2"], bad: ["-1", "1.5", #""1""#]),
        APSKeyRow(
            path: "alert.title", good: [#""x""#, #"{"loc-key":"k","loc-args":["a"]}"#], bad: ["1", "[]"],
            beside: .start),
        APSKeyRow(path: "alert.body", good: [#""x""#, #"{"loc-key":"k"}"#], bad: ["true"], beside: .start),
        APSKeyRow(path: "alert.sound", good: [#""x""#, #"{"name":"x"}"#], bad: ["1"], beside: .start),
        APSKeyRow(
            path: "badge", good: ["0", "1", "99999", "1.0"], bad: ["-1", "1.5", #""1""#, "true", "{}", "1e300"]),
        APSKeyRow(path: "sound", good: [#""default""#, "{}"], bad: ["1", "[]", "false"]),
        APSKeyRow(path: "sound.critical", good: ["0", "1", "true"], bad: flags),
        string("sound.name"),
        APSKeyRow(path: "sound.volume", good: ["0", "0.5", "1"], bad: ["-0.1", "1.1", #""1""#]),
        string("thread-id"),
        string("category"),
        string("target-content-id"),
        string("filter-criteria"),
        APSKeyRow(path: "content-available", good: ["1", "true", "0"], bad: flags),
        APSKeyRow(path: "mutable-content", good: ["1", "true", "0"], bad: flags),
        APSKeyRow(
            path: "interruption-level",
            good: [#""passive""#, #""active""#, #""time-sensitive""#, #""critical""#],
            bad: [#""Passive""#, #""""#, "1"]),
        APSKeyRow(path: "relevance-score", good: ["0", "0.5", "1"], bad: ["-0.1", "1.1", "75", #""1""#]),
        APSKeyRow(path: "relevance-score", good: ["75.5", "-3"], bad: [#""1""#, "true"], beside: .start),
        APSKeyRow(path: "timestamp", good: ["1700000000", "1700000000.5"], bad: times, beside: .start),
        APSKeyRow(path: "event", good: [#""start""#], bad: [#""Start""#, #""""#, "1"], beside: .start),
        APSKeyRow(path: "content-state", good: ["{}", #"{"any":[1]}"#], bad: [#""x""#, "[]", "1"], beside: .start),
        APSKeyRow(path: "stale-date", good: ["1700000000"], bad: times, beside: .start),
        APSKeyRow(path: "dismissal-date", good: ["0", "1700000000"], bad: times, beside: .start),
        APSKeyRow(path: "attributes-type", good: [#""A""#], bad: text, beside: .start),
        APSKeyRow(path: "attributes", good: ["{}", #"{"a":1}"#], bad: [#""x""#, "[]", "1"], beside: .start),
        APSKeyRow(
            path: "input-push-channel", good: [#""dHN0LXNyY2gtY2hubA==""#, #""+/-_""#],
            bad: [#""""#, #""a b""#, #""a""#, #""YQ===""#, #""====""#, "1"], beside: .start),
        APSKeyRow(path: "input-push-token", good: ["1", "true"], bad: flags, beside: .start),
        APSKeyRow(path: "content-changed", good: ["true"], bad: ["false", "1", #""true""#], beside: .widgets),
        APSKeyRow(path: "url-args", good: ["[]", #"["a"]"#], bad: texts),
    ]

    /// Every key that the documents name.
    static let documented: Set<String> = [
        "alert", "alert.title", "alert.subtitle", "alert.body", "alert.launch-image", "alert.title-loc-key",
        "alert.title-loc-args", "alert.subtitle-loc-key", "alert.subtitle-loc-args", "alert.loc-key", "alert.loc-args",
        "alert.sound", "alert.action", "alert.action-loc-key", "alert.summary-arg", "alert.summary-arg-count", "badge",
        "sound", "sound.critical", "sound.name", "sound.volume", "thread-id", "category", "target-content-id",
        "filter-criteria", "content-available", "mutable-content", "interruption-level", "relevance-score", "timestamp",
        "event", "content-state", "stale-date", "dismissal-date", "attributes-type", "attributes",
        "input-push-channel", "input-push-token", "content-changed", "url-args",
    ]
}

@Suite(.timeLimit(.minutes(5)))
struct APSKeyTests {
    @Test func everyDocumentedKeyHasItsRow() {
        #expect(Set(APSKeyRow.all.map(\.path)) == APSKeyRow.documented)
    }

    @Test(arguments: APSKeyRow.all)
    func whatAppleNamesIsTaken(row: APSKeyRow) throws {
        for value in row.good {
            #expect(try refusal(of: row.message(value))?.violations == nil, "\(row.path): \(value)")
        }
    }

    @Test(arguments: APSKeyRow.all)
    func anythingElseIsRefusedByItsPath(row: APSKeyRow) throws {
        let path = "message.apns.payload.aps." + row.path
        for value in row.bad {
            let found = try #require(try refusal(of: row.message(value)), "\(row.path): \(value)")
            #expect(found.violations.count == 1)
            // An element of a list is named by its place.
            #expect(found.violations[0].field == path || found.violations[0].field == path + "[0]")
            #expect(!found.isFrontEnd)
        }
    }

    @Test func flagsGoOutAsNumbers() throws {
        let message = #"""
            {"apns":{"payload":{"aps":{"alert":"a","content-available":true,"mutable-content":false,
            "sound":{"critical":true,"name":"n"}}}}}
            """#
        let aps = try #require(AppleParts(of: FCMMessage(source: json(message))).payload["aps"])
        #expect(
            String(decoding: aps.canonicalBytes, as: UTF8.self)
                == #"{"alert":"a","content-available":1,"mutable-content":0,"sound":{"critical":1,"name":"n"}}"#)
    }
}
