import APNS
import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

let expiry = Timestamp(seconds: 1_800_000_000)

/// The push of a message to the app `com.example.app`.
func makePush(
    _ message: String, keys: FirebaseKeys = .none, topic: String? = nil, credential: CredentialKind = .providerToken
) throws -> ApplePush {
    let app = App(
        id: AppID(rawValue: "com.example.app")!, environment: .production, firebaseKeys: keys, credential: credential)
    let context = PushContext(
        message: MessageID(rawValue: "0:1700000000000000-00000000000000ab")!, projectNumber: 123_456_789_012,
        broadcastTopic: topic.flatMap { Topic(rawValue: $0) }, app: app, expiresAt: expiry)
    return try ApplePush(FCMMessage(source: json(message)), in: context)
}

struct ApplePushTests {
    static let fid = RegistrationID(rawValue: "cabcdefghijklmnopqrstu")!

    private func push(
        _ message: String, keys: FirebaseKeys = .none, topic: String? = nil,
        credential: CredentialKind = .providerToken
    ) throws -> ApplePush {
        try makePush(message, keys: keys, topic: topic, credential: credential)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func theSampleOfTheDocumentationComesOutExactly() throws {
        let message = """
            {"notification":{"title":"Portugal vs. Denmark","body":"great match!"},
             "apns":{"payload":{"aps":{"badge":1},"customKey":"customValue"}}}
            """
        let push = try push(message)
        #expect(
            text(push.payload) == """
                {"aps":{"alert":{"body":"great match!","title":"Portugal vs. Denmark"},"badge":1},\
                "customKey":"customValue"}
                """)
        #expect(push.pushType == .alert)
        #expect(push.priority == .immediate)
        #expect(push.topic == "com.example.app")
        #expect(push.expiration == .until(expiry))
        #expect(push.registrationIDOffset == nil)
    }

    @Test(arguments: [
        // Nothing to show: the app is woken.
        (#"{"data":{"k":"1"}}"#, #"{"aps":{"content-available":1},"k":"1"}"#, PushType.background),
        (#"{"data":{"k":"1"},"notification":{}}"#, #"{"aps":{"content-available":1},"k":"1"}"#, .background),
        (#"{"data":{"k":"1"},"notification":{"title":""}}"#, #"{"aps":{"content-available":1},"k":"1"}"#, .background),
        (
            #"{"data":{"k":"1"},"apns":{"headers":{"apns-collapse-id":"c"}}}"#,
            #"{"aps":{"content-available":1},"k":"1"}"#, .background
        ),
        (#"{"apns":{"payload":{"k":1}}}"#, #"{"aps":{"content-available":1},"k":1}"#, .background),
        (#"{}"#, #"{"aps":{"content-available":1}}"#, .background),
        (
            #"{"apns":{"headers":{"apns-push-type":"background"}}}"#, #"{"aps":{"content-available":1}}"#, .background
        ),
        (
            #"{"apns":{"payload":{"aps":{"content-available":true,"sound":""}}}}"#,
            #"{"aps":{"content-available":1,"sound":""}}"#, .background
        ),
        // Something to show.
        (#"{"notification":{"body":"b"}}"#, #"{"aps":{"alert":{"body":"b"}}}"#, .alert),
        (#"{"apns":{"payload":{"aps":{"badge":0}}}}"#, #"{"aps":{"badge":0}}"#, .alert),
        (
            #"{"apns":{"payload":{"aps":{"content-available":1,"sound":"x"}}}}"#,
            #"{"aps":{"content-available":1,"sound":"x"}}"#, .alert
        ),
        // The sender's alert replaces title and body.
        (
            #"{"notification":{"title":"t","body":"b"},"apns":{"payload":{"aps":{"alert":"own"}}}}"#,
            #"{"aps":{"alert":"own"}}"#, .alert
        ),
        // null counts as absent.
        (
            #"{"notification":{"title":"t"},"apns":{"payload":{"aps":{"alert":null}}}}"#,
            #"{"aps":{"alert":{"title":"t"}}}"#, .alert
        ),
        (
            #"{"notification":{"title":"t"},"data":{"k":"1"},"apns":{"payload":{"k":[1.10]}}}"#,
            #"{"aps":{"alert":{"title":"t"}},"k":[1.10]}"#, .alert
        ),
        // Other push types by header or by the topic's suffix.
        (#"{"data":{"k":"1"},"apns":{"headers":{"apns-push-type":"voip"}}}"#, #"{"k":"1"}"#, .voip),
        (
            #"{"data":{"k":"1"},"apns":{"headers":{"apns-topic":"com.example.app.voip-ptt"}}}"#, #"{"k":"1"}"#,
            .pushtotalk
        ),
        (
            #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":{"content-state":{},"event":"end","timestamp":1}}}}"#,
            #"{"aps":{"content-state":{},"event":"end","timestamp":1}}"#, .liveactivity
        ),
        (
            #"{"apns":{"headers":{"apns-push-type":"widgets"},"payload":{"aps":{"content-changed":true}}}}"#,
            #"{"aps":{"content-changed":true}}"#, .widgets
        ),
    ])
    func payloadAndPushTypeFollowFromTheMessage(message: String, payload: String, type: PushType) throws {
        let push = try push(message)
        #expect(text(push.payload) == payload)
        #expect(push.pushType == type)
    }

    @Test func headersOfTheSenderAreKept() throws {
        let message = """
            {"notification":{"title":"t"},"apns":{"headers":{"apns-topic":"com.example.app","apns-priority":"5",
            "apns-expiration":"0","apns-collapse-id":"c","apns-id":"123e4567-e89b-12d3-a456-426614174000"}}}
            """
        let push = try push(message)
        #expect(push.topic == "com.example.app")
        #expect(push.priority == .conserving)
        #expect(push.expiration == .once)
        #expect(push.collapseID == "c")
        #expect(push.id?.rawValue == "123e4567-e89b-12d3-a456-426614174000")
        let later = try self.push(#"{"apns":{"headers":{"apns-expiration":"1700000000"}}}"#)
        #expect(later.expiration == .until(Timestamp(seconds: 1_700_000_000)))
    }

    @Test(
        arguments: [
            (
                #"{"data":{"k":"1"},"apns":{"headers":{"apns-priority":"10"}}}"#, nil,
                "message.apns.headers.apns-priority"
            ),
            (
                #"{"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":1}}}}"#, nil,
                "message.apns.headers.apns-priority"
            ),
            (
                #"{"notification":{"title":"t"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"10"}}}"#,
                nil, "message.apns.headers.apns-push-type"
            ),
            (
                #"{"apns":{"headers":{"apns-push-type":"background"},"payload":{"aps":{"alert":"a"}}}}"#, nil,
                "message.apns.headers.apns-push-type"
            ),
            (
                #"{"apns":{"headers":{"apns-push-type":"background"},"payload":{"aps":{"badge":0}}}}"#, nil,
                "message.apns.headers.apns-push-type"
            ),
            (
                #"{"apns":{"headers":{"apns-push-type":"background"},"payload":{"aps":{"sound":"s"}}}}"#, nil,
                "message.apns.headers.apns-push-type"
            ),
            (
                #"{"apns":{"headers":{"apns-id":"123e4567-e89b-12d3-a456-426614174000"}}}"#, "news",
                "message.apns.headers.apns-id"
            ),
            (
                #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":{"event":"update","timestamp":1,"content-state":{}}}}}"#,
                "news", "message.apns.live_activity_token"
            ),
        ] as [(String, String?, String)])
    func whatAppleWouldRefuseIsRefused(message: String, topic: String?, field: String) throws {
        let error = try #require(throws: InvalidMessage.self) { try push(message, topic: topic) }
        #expect(error.violations.map(\.field) == [field])
        #expect(!error.isFrontEnd)
    }

    @Test(
        arguments: [
            ("com.example.app", "alert", "com.example.app"), ("com.example.app", "voip", nil),
            ("com.example.app.voip", "voip", "com.example.app.voip"),
            ("com.example.app.voip", nil, "com.example.app.voip"),
            ("com.example.app.location-query", nil, "com.example.app.location-query"),
            ("other.app", nil, nil), ("other.app.voip", nil, nil), ("com.example.app.voip", "alert", nil),
            ("com.example.app.voip", "background", nil), ("com.example.app.voip-ptt", "voip", nil),
            ("com.example.app.x", nil, nil), ("COM.example.app", nil, nil), ("com.apple.mgmt.External.1", nil, nil),
        ] as [(String, String?, String?)])
    func aTopicOfTheSenderMustBeTheAppsOwn(named: String, type: String?, expected: String?) throws {
        let header = type.map { #","apns-push-type":"\#($0)""# } ?? ""
        let message = #"{"apns":{"headers":{"apns-topic":"\#(named)"\#(header)}}}"#
        if let expected {
            #expect(try push(message).topic == expected)
        } else {
            let error = try #require(throws: InvalidMessage.self) { try push(message, topic: "news") }
            #expect(error.violations.map(\.field) == ["message.apns.headers.apns-topic"])
            #expect(error.violations[0].description.hasSuffix("to the app com.example.app."))
        }
    }

    @Test(arguments: [
        (FirebaseKeys.none, #"{"aps":{"alert":{"title":"t"}}}"#),
        (
            .standard,
            #"{"aps":{"alert":{"title":"t"},"mutable-content":1},"fcm_options":{"image":"https://x/i"},"from":"/topics/news","#
                + #""gcm.message_id":"0:1700000000000000-00000000000000ab","google.c.a.e":"1","google.c.a.m_l":"l","#
                + #""google.c.sender.id":"123456789012"}"#
        ),
    ])
    func firebaseKeysAreAddedAsTheAppAsks(keys: FirebaseKeys, payload: String) throws {
        let message = #"{"notification":{"title":"t","image":"https://x/i"},"fcm_options":{"analytics_label":"l"}}"#
        #expect(text(try push(message, keys: keys, topic: "news").payload) == payload)
    }

    @Test func aSingleSendWithoutLabelCarriesNoTopicAndNoLabel() throws {
        let push = try push(#"{"notification":{"title":"t"}}"#, keys: .standard)
        #expect(
            text(push.payload)
                == #"{"aps":{"alert":{"title":"t"}},"gcm.message_id":"0:1700000000000000-00000000000000ab","#
                + #""google.c.sender.id":"123456789012"}"#)
    }

    @Test func theImageOfApnsOverridesTheCommonOne() throws {
        let message =
            #"{"notification":{"title":"t","image":"https://x/all"},"apns":{"fcm_options":{"image":"https://x/apple"}}}"#
        let payload = try JSONValue(parsing: push(message, keys: .standard).payload)
        #expect(payload["fcm_options"]?["image"] == .string("https://x/apple"))
    }

    @Test func deviceManagementGetsItsPayloadAlone() throws {
        let message =
            #"{"apns":{"headers":{"apns-push-type":"mdm","apns-topic":"com.apple.mgmt.External.1"},"#
            + #""payload":{"mdm":"magic"}}}"#
        let push = try push(message, keys: .full, credential: .certificate)
        #expect(text(push.payload) == #"{"mdm":"magic"}"#)
        #expect(push.registrationIDOffset == nil)
    }

    @Test func fullKeysSpliceTheRegistrationIntoTheObject() throws {
        let push = try push(#"{"notification":{"title":"t"},"data":{"a":"1"}}"#, keys: .full)
        let spliced = try JSONValue(parsing: push.payload(for: Self.fid))
        #expect(spliced["google.c.fid"] == .string(Self.fid.rawValue))
        guard case .object(let members) = spliced, case .object(let plain) = try JSONValue(parsing: push.payload) else {
            Issue.record("not objects")
            return
        }
        #expect(members.filter { $0.name != "google.c.fid" } == plain)
        #expect(members.count == plain.count + 1)
    }

    @Test(arguments: [
        (PushType.alert, FirebaseKeys.none, 4096), (.alert, .standard, 4096), (.alert, .full, 4096),
        (.voip, .none, 5120), (.voip, .full, 5120), (.location, .none, 4096),
    ])
    func theLimitIsCountedOnTheFinishedBytes(type: PushType, keys: FirebaseKeys, limit: Int) throws {
        func message(_ filler: Int) -> String {
            let body = String(repeating: "x", count: filler)
            return #"{"notification":{"body":"\#(body)"},"apns":{"headers":{"apns-push-type":"\#(type.rawValue)"}}}"#
        }
        let overhead = try push(message(1), keys: keys).payload(for: Self.fid).count - 1
        let largest = try push(message(limit - overhead), keys: keys)
        #expect(largest.payload(for: Self.fid).count == limit)
        let error = try #require(throws: InvalidMessage.self) { try push(message(limit - overhead + 1), keys: keys) }
        #expect(error.violations.map(\.field) == ["message.notification.body"])
        #expect(error.violations[0].description.contains("\(limit + 1)"))
        #expect(error.violations[0].description.contains("\(limit)"))
    }

    @Test(arguments: [
        (#"{"notification":{"title":"@@"}}"#, "message.notification.title"),
        (#"{"notification":{"title":"t","body":"@@"}}"#, "message.notification.body"),
        (#"{"notification":{"title":"t"},"data":{"a":"@","b":"@"}}"#, "message.data"),
        (#"{"data":{"a":"b"},"apns":{"payload":{"a":"@@"}}}"#, "message.apns.payload"),
        (#"{"notification":{"body":"@"},"data":{"a":"@"}}"#, "message"),
        (
            #"{"notification":{"body":"@@"},"data":{"a":"@@"},"apns":{"payload":{"aps":{"alert":"a"}}}}"#,
            "message.data"
        ),
    ])
    func whatIsTooBigIsNamed(message: String, field: String) throws {
        let filled = message.replacing("@", with: String(repeating: "x", count: 2100))
        let error = try #require(throws: InvalidMessage.self) { try push(filled) }
        #expect(error.violations.map(\.field) == [field])
        #expect(error.violations[0].description.contains("the limit is 4096"))
    }

    @Test(arguments: [
        (#"{"notification":{"title":"t"}}"#, true), (#"{"notification":{"image":"https://x/i"}}"#, false),
        (#"{"data":{"a":"b"}}"#, false), (#"{"apns":{"payload":{"aps":{"badge":0}}}}"#, true),
        (#"{"apns":{"payload":{"aps":{"sound":"x"}}}}"#, true), (#"{"apns":{"payload":{"aps":{"alert":""}}}}"#, false),
        (#"{"notification":{"title":"t"},"apns":{"payload":{"aps":{"alert":{}}}}}"#, false),
    ])
    func aMessageIsDisplayedWhenTheUserNoticesIt(message: String, isDisplayed: Bool) throws {
        #expect(try FCMMessage(source: json(message)).isDisplayed == isDisplayed)
    }

    @Test(
        arguments: [
            ("{}", TimeToLive.lasting(.seconds(2_592_000)), 2_592_000),
            (#"{"apns":{"headers":{"apns-expiration":"0"}}}"#, .once, 0),
            (#"{"apns":{"headers":{"apns-expiration":"1700000060"}}}"#, .lasting(.seconds(60)), 60),
            (#"{"apns":{"headers":{"apns-expiration":"1700000000"}}}"#, .once, 0),
            (#"{"apns":{"headers":{"apns-expiration":"300"}}}"#, .once, 0),
            (#"{"apns":{"headers":{"apns-expiration":"4000000000"}}}"#, .lasting(.seconds(2_592_000)), 2_592_000),
            // Push to Talk is now or never, unless the sender says otherwise.
            (#"{"apns":{"headers":{"apns-push-type":"pushtotalk"}}}"#, .once, 0),
            (#"{"apns":{"headers":{"apns-topic":"com.example.app.voip-ptt"}}}"#, .once, 0),
            (
                #"{"apns":{"headers":{"apns-push-type":"pushtotalk","apns-expiration":"1700000060"}}}"#,
                .lasting(.seconds(60)), 60
            ),
        ] as [(String, TimeToLive, Int64)])
    func theTimeToLiveIsCountedFromAccept(message: String, expected: TimeToLive, seconds: Int64) throws {
        let found = try FCMMessage(source: json(message))
            .timeToLive(acceptedAt: Timestamp(seconds: 1_700_000_000), on: .apple)
        #expect(found == expected)
        #expect(found.seconds == seconds)
    }
}
