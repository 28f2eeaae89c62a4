import APNS
import Delivery
import FCMWire
import JSON
import NIOCore
import PushModel
import Store
import Testing

@testable import GatewayAPI

/// What a legacy request becomes on its way to APNs.
struct LegacyMessageTests {
    private static let now = Timestamp(milliseconds: 1_767_323_045_678)

    /// The push that a request to a token makes.
    private func push(
        _ members: String, keys: FirebaseKeys = .none
    ) throws -> (payload: String, push: ApplePush, source: JSONValue) {
        let content = try request(members).content.get()
        let id = try #require(AppID(rawValue: "com.example.app"))
        let app = App(id: id, environment: .production, firebaseKeys: keys)
        let push = try ApplePush(
            content,
            in: PushContext(
                message: #require(MessageID(rawValue: "0:1-a")), projectNumber: 7, broadcastTopic: nil, app: app,
                expiresAt: Self.now + .seconds(60)))
        return (String(decoding: push.payload, as: UTF8.self), push, content.source)
    }

    private func request(_ members: String) throws -> LegacySendRequest {
        let body = RequestBody(bytes: ByteBuffer(string: #"{"to":"abcdefgh:APA91bxyzxyz",\#(members)}"#))
        return try LegacySendRequest(body, at: Self.now)
    }

    private func expectRefusal(_ members: String, naming field: String) {
        let error = #expect(throws: FCMError.self) { try request(members) }
        #expect(error?.code.httpStatus == 400)
        #expect(error?.message.hasPrefix("InvalidParameters: ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(field) == true, "\(error?.message ?? "")")
    }

    @Test func whatIsShownGoesIntoTheAlert() throws {
        let notification = """
            "notification":{"title":"T","subtitle":"S","body":"B","badge":"3","sound":"ping.caf","click_action":"OPEN",
            "title_loc_key":"TK","title_loc_args":["a"],"body_loc_key":"BK","body_loc_args":"[\\"b\\",\\"c\\"]",
            "thread_id":"t","interruption_level":"passive","relevance_score":0.5,"target_content_id":"w",
            "subtitle_loc_key":"SK","subtitle_loc_args":["d"]},"mutable_content":true,"content_available":true
            """
        let made = try push(notification)
        #expect(
            made.payload
                == #"{"aps":{"alert":{"body":"B","loc-args":["b","c"],"loc-key":"BK","subtitle":"S","subtitle-loc-args":["d"],"subtitle-loc-key":"SK","title":"T","title-loc-args":["a"],"title-loc-key":"TK"},"badge":3,"category":"OPEN","content-available":1,"interruption-level":"passive","mutable-content":1,"relevance-score":0.5,"sound":"ping.caf","target-content-id":"w","thread-id":"t"}}"#
        )
        #expect(made.push.pushType == .alert && made.push.priority == .immediate)
    }

    @Test func aBadgeIsANumberAndASoundMayBeADictionary() throws {
        #expect(try push(#""notification":{"badge":0}"#).payload == #"{"aps":{"badge":0}}"#)
        let critical = #"{"critical":true,"name":"x","volume":0.5}"#
        #expect(
            try push(#""notification":{"sound":\#(critical)}"#).payload
                == #"{"aps":{"sound":{"critical":1,"name":"x","volume":0.5}}}"#)
    }

    @Test func anImageGoesTheWayOfV1() throws {
        let notification = #""notification":{"title":"T","image":"https://example.com/a.png"}"#
        #expect(
            try push(notification, keys: .standard).payload.contains(
                #""aps":{"alert":{"title":"T"},"mutable-content":1},"fcm_options":{"image":"https://example.com/a.png"}"#
            ))
        #expect(try push(notification).payload == #"{"aps":{"alert":{"title":"T"}}}"#)
    }

    @Test func dataBecomesStringsBesideAps() throws {
        let data = #""data":{"a":"x","b":1.50,"c":true,"d":{"e":[1,null]},"f":null,"collapse_key":"k"}"#
        #expect(
            try push(data + #","notification":{"body":"B"}"#).payload
                == #"{"a":"x","aps":{"alert":{"body":"B"}},"b":"1.50","c":"true","collapse_key":"k","d":"{\"e\":[1,null]}"}"#
        )
    }

    @Test(arguments: ["high", "normal", "HIGH"])
    func whatShowsNothingIsQuietWhateverPriorityItHas(priority: String) throws {
        for message in [#""data":{"a":"b"}"#, #""content_available":true"#, #""notification":{}"#] {
            let made = try push(message + #","priority":"\#(priority)""#)
            #expect(made.push.pushType == .background && made.push.priority == .conserving)
            #expect(made.payload.contains(#""aps":{"content-available":1}"#))
        }
    }

    @Test func priorityIsForWhatIsShown() throws {
        let alert = #""notification":{"title":"T"},"priority":"#
        #expect(try push(alert + #""normal""#).push.priority == .conserving)
        #expect(try push(alert + #""high""#).push.priority == .immediate)
        #expect(try push(#""notification":{"title":"T"}"#).push.priority == .immediate)
        expectRefusal(alert + #""urgent""#, naming: "priority")
        expectRefusal(alert + "10", naming: "priority")
    }

    @Test func timeToLiveBecomesTheExpiration() throws {
        let alert = #""notification":{"title":"T"},"time_to_live":"#
        let end = Timestamp(seconds: 1_767_323_046 + 3600)
        for text in ["3600", #""3600""#, "3.6e3"] {
            #expect(try push(alert + text).push.expiration == .until(end))
        }
        #expect(try push(alert + "0").push.expiration == .once)
        let longest = try request(alert + "2419200").content.get()
        for platform in Platform.allCases {
            #expect(longest.timeToLive(acceptedAt: Self.now, on: platform).seconds == 2_419_200)
        }
        #expect(try request(alert + "60").content.get().timeToLive(acceptedAt: Self.now, on: .web).seconds == 60)
        for text in ["-1", "2419201", "1.5", #""-1""#, "1e99"] {
            #expect(throws: LegacyError.invalidTimeToLive) { try request(alert + text).content.get() }
        }
        for text in [#""soon""#, "true", "{}"] { expectRefusal(alert + text, naming: "time_to_live") }
    }

    @Test func collapseKeyBecomesTheCollapseID() throws {
        let alert = #""notification":{"title":"T"},"collapse_key":"#
        #expect(try push(alert + #""score""#).push.collapseID == "score")
        let longest = String(repeating: "k", count: 64)
        #expect(try push(alert + #""\#(longest)""#).push.collapseID == longest)
        // printf %065d 0 | sha256sum
        let zeros = String(repeating: "0", count: 65)
        let hashed = try #require(try push(alert + #""\#(zeros)""#).push.collapseID)
        #expect(hashed == Self.digest)
        expectRefusal(alert + #""a\nb""#, naming: "collapse_key")
        expectRefusal(alert + "5", naming: "collapse_key")
    }

    private static let digest = "e531ef0f962409170917abf9de3287afec23dd1c42c9e1fea66c5feab99e8f7c"

    @Test func androidGetsItsKeys() throws {
        let made = try push(
            """
            "notification":{"title":"T","icon":"i","tag":"t","color":"#ff0000","android_channel_id":"c","sound":"s",
            "click_action":"OPEN","body_loc_key":"BK","body_loc_args":"[\\"b\\"]"},"priority":"high",
            "collapse_key":"k","time_to_live":60,"restricted_package_name":"com.example.app"
            """)
        #expect(
            made.source["android"]
                == (try JSONValue(
                    parsing: Array(
                        ##"{"priority":"high","collapse_key":"k","restricted_package_name":"com.example.app","ttl":"60s","notification":{"icon":"i","tag":"t","color":"#ff0000","channel_id":"c","click_action":"OPEN","body_loc_key":"BK","sound":"s","body_loc_args":["b"]}}"##
                            .utf8))))
        #expect(
            made.payload
                == #"{"aps":{"alert":{"loc-args":["b"],"loc-key":"BK","title":"T"},"category":"OPEN","sound":"s"}}"#)
        // FCM hands them to the app; to Apple they mean nothing.
        #expect(try push(#""notification":{"title":"T","ticker":5}"#).payload == #"{"aps":{"alert":{"title":"T"}}}"#)
    }

    @Test(arguments: ["from", "message_type", "google", "google.x", "googlefoo", "gcm", "gcm_x", "gcm.y", "aps"])
    func reservedKeysHaveTheirOwnError(key: String) throws {
        #expect(throws: LegacyError.invalidDataKey) {
            try request(#""data":{"ok":"1","\#(key)":"x"},"time_to_live":5"#).content.get()
        }
        #expect(throws: LegacyError.invalidDataKey) {
            try request(#""data":{"fcm_options":"x"},"notification":{"image":"https://example.com/a"}"#).content.get()
        }
    }

    @Test(arguments: [
        (#""notification":7"#, "notification"), (#""notification":{"title":7}"#, "notification.title"),
        (#""notification":{"badge":"many"}"#, "notification.badge"),
        (#""notification":{"badge":-1}"#, "notification.badge"),
        (#""notification":{"title_loc_key":"k","title_loc_args":"no list"}"#, "title_loc_args"),
        (#""notification":{"body_loc_args":["a"]}"#, "loc-args"), (#""notification":{"sound":5}"#, "sound"),
        (#""notification":{"icon":5}"#, "icon"), (#""data":[]"#, "data"), (#""data":"x""#, "data"),
        (#""content_available":"true""#, "content_available"), (#""dry_run":1"#, "dry_run"),
        (#""mutable_content":1"#, "mutable_content"), (#""restricted_package_name":[]"#, "restricted_package_name"),
        (#""dryRun":true"#, "dryRun"), (#""message":{}"#, "message"),
    ])
    func whatIsWrongIsNamed(members: String, field: String) {
        expectRefusal(members, naming: field)
    }

    @Test func whatHadAMeaningOnceIsPassedOver() throws {
        let made = try push(
            #""delay_while_idle":true,"notification_key":"x","notification":{"title":"T"},"priority":null"#)
        #expect(made.payload == #"{"aps":{"alert":{"title":"T"}}}"#)
    }
}
