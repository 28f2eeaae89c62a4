import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LiveActivityTests {
    static let start =
        #"{"timestamp":1700000000,"event":"start","content-state":{"s":1},"attributes-type":"A","attributes":{},"#
        + #""alert":{"title":{"loc-key":"k","loc-args":["a"]},"body":{"loc-key":"b"},"sound":"chime"}}"#
    static let update = #"{"timestamp":1700000000,"event":"update","content-state":{"s":1}}"#
    static let end = #"{"timestamp":1700000000,"event":"end","content-state":{},"dismissal-date":1700000060}"#

    private func message(_ aps: String, more: String = "") -> String {
        #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":\#(aps)}\#(more)}}"#
    }

    /// `aps` with further members; of two with one name the last counts, `null` counts as absent.
    private func changed(_ aps: String, _ members: String) -> String {
        aps.dropLast() + "," + members + "}"
    }

    @Test(arguments: [start, update, end])
    func eachEventGoesOutToItsToken(aps: String) throws {
        let content = try FCMMessage(source: json(message(aps)))
        #expect(content.apns.liveActivityToken == DeviceToken(hex: activityToken))
        let parts = AppleParts(of: content)
        #expect(parts.pushType == .liveactivity)
        #expect(parts.pushType.topicSuffix == ".push-type.liveactivity")
        #expect(parts.priority == .immediate)
        let sent = try #require(parts.payload["aps"])
        #expect(sent.canonicalBytes == (try json(aps).canonicalBytes))
    }

    @Test(
        arguments: [
            (start, "timestamp"), (start, "content-state"), (start, "attributes-type"), (start, "attributes"),
            (start, "alert"), (update, "timestamp"), (update, "event"), (update, "content-state"), (end, "timestamp"),
            (end, "content-state"),
        ])
    func eachEventHasItsKeys(aps: String, key: String) throws {
        let found = try refusal(of: message(changed(aps, #""\#(key)":null"#)))
        #expect(found?.violations.map(\.field) == ["message.apns.payload.aps.\(key)"])
        #expect(found?.violations.first?.description.hasPrefix("\(key) is required for ") == true)
    }

    @Test(
        arguments: [update, end],
        [
            (#""attributes-type":"A""#, "attributes-type"), (#""attributes":{}"#, "attributes"),
            (#""input-push-channel":"dHN0LXNyY2gtY2hubA==""#, "input-push-channel"),
            (#""input-push-token":1"#, "input-push-token"),
        ])
    func onlyAStartHasItsKeys(aps: String, member: (String, String)) throws {
        #expect(
            try refusal(of: message(changed(aps, member.0)))?.violations.map(\.field)
                == ["message.apns.payload.aps.\(member.1)"])
        #expect(try refusal(of: message(changed(Self.start, member.0))) == nil)
    }

    @Test func everythingThatIsMissingIsNamedAtOnce() throws {
        let found = try refusal(of: message(#"{"event":"start"}"#))
        #expect(
            found?.violations.map(\.field)
                == ["timestamp", "content-state", "attributes-type", "attributes", "alert"].map {
                    "message.apns.payload.aps.\($0)"
                })
        #expect(
            try refusal(of: #"{"apns":{"live_activity_token":"\#(activityToken)"}}"#)?.violations.map(\.field)
                == ["timestamp", "event", "content-state"].map { "message.apns.payload.aps.\($0)" })
    }

    @Test func theAlertOfAStartMayComeFromTheNotification() throws {
        let silent = changed(Self.start, #""alert":null"#)
        let text =
            #"{"notification":{"title":"t"},"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":\#(silent)}}}"#
        let parts = try AppleParts(of: FCMMessage(source: json(text)))
        #expect(try parts.payload["aps"]?["alert"] == json(#"{"title":"t"}"#))
    }

    @Test(arguments: [
        (#""timestamp":1700000000000"#, "timestamp"), (#""timestamp":-1"#, "timestamp"),
        (#""stale-date":1700000000000"#, "stale-date"), (#""dismissal-date":"soon""#, "dismissal-date"),
        (#""relevance-score":"high""#, "relevance-score"), (#""alert":{"title":{"loc-key":7}}"#, "alert.title.loc-key"),
        (#""alert":{"body":{"loc-args":["a"]}}"#, "alert.body.loc-args"), (#""alert":{"sound":1}"#, "alert.sound"),
        (#""input-push-channel":"not base64!""#, "input-push-channel"), (#""input-push-token":2"#, "input-push-token"),
        (#""event":"pause""#, "event"), (#""content-state":[]"#, "content-state"), (#""attributes":1"#, "attributes"),
    ])
    func wrongValuesAreNamedByTheirPath(member: String, path: String) throws {
        #expect(
            try refusal(of: message(changed(Self.start, member)))?.violations.map(\.field)
                == ["message.apns.payload.aps.\(path)"])
    }

    @Test(arguments: [
        #""relevance-score":75.5"#, #""relevance-score":-1"#, #""stale-date":1700000000.5"#, #""dismissal-date":0"#,
        #""input-push-token":true"#, #""input-push-channel":"dHN0LXNyY2gtY2hubA""#,
    ])
    func whatActivityKitTakesIsTaken(member: String) throws {
        #expect(try refusal(of: message(changed(Self.start, member))) == nil)
    }

    @Test(arguments: [("1", false), ("5", true), ("10", true)])
    func prioritiesAreFiveAndTen(priority: String, isTaken: Bool) throws {
        let text = message(Self.update, more: #","headers":{"apns-priority":"\#(priority)"}"#)
        #expect(
            try refusal(of: text)?.violations.map(\.field) == (isTaken ? nil : ["message.apns.headers.apns-priority"]))
    }
}
