import JSON
import PushModel
import TestSupport
import Testing

@testable import FCMWire

/// FCM's rules for the blocks of platforms that nothing is sent to.
struct PlatformRuleTests {
    @Test(arguments: [
        (#"{"android":{"ttl":"-1s"}}"#, "message.android.ttl"),
        (#"{"android":{"ttl":"-0.000000001s"}}"#, "message.android.ttl"),
        (#"{"android":{"ttl":"2419201s"}}"#, "message.android.ttl"),
        (#"{"android_v2":{"ttl":"2419201s"}}"#, "message.android_v2.ttl"),
        (#"{"android":{"restrictedPackageName":"app"}}"#, "message.android.restricted_package_name"),
        (#"{"android":{"restricted_package_name":"com.1app"}}"#, "message.android.restricted_package_name"),
        (#"{"android_v2":{"restricted_package_name":"com..app"}}"#, "message.android_v2.restricted_package_name"),
        (#"{"android":{"restricted_package_name":"com.ex-ample"}}"#, "message.android.restricted_package_name"),
        (#"{"android":{"data":{"a":"b","from":"x"}}}"#, "message.android.data[1].key"),
        (#"{"android_v2":{"data":{"google.x":"x"}}}"#, "message.android_v2.data[0].key"),
        (#"{"webpush":{"data":{"gcm.notification.x":"x"}}}"#, "message.webpush.data[0].key"),
        (#"{"android":{"fcm_options":{"analytics_label":"a b"}}}"#, "message.android.fcm_options.analytics_label"),
        (
            #"{"android_v2":{"fcmOptions":{"analyticsLabel":"a b"}}}"#,
            "message.android_v2.fcm_options.analytics_label"
        ),
        (#"{"webpush":{"fcm_options":{"analytics_label":"é"}}}"#, "message.webpush.fcm_options.analytics_label"),
        (#"{"webpush":{"fcm_options":{"link":"http://example.com"}}}"#, "message.webpush.fcm_options.link"),
        (#"{"webpush":{"fcm_options":{"link":"https:///x"}}}"#, "message.webpush.fcm_options.link"),
        (#"{"webpush":{"fcm_options":{"link":"https://a b"}}}"#, "message.webpush.fcm_options.link"),
        (#"{"webpush":{"fcm_options":{"link":"/x"}}}"#, "message.webpush.fcm_options.link"),
        (##"{"android":{"notification":{"color":"#12345"}}}"##, "message.android.notification.color"),
        (##"{"android":{"notification":{"color":"123456"}}}"##, "message.android.notification.color"),
        (##"{"android":{"notification":{"color":"#12345g"}}}"##, "message.android.notification.color"),
        (
            ##"{"androidV2":{"remoteNotification":{"notification":{"color":"red"}}}}"##,
            "message.android_v2.remote_notification.notification.color"
        ),
        (
            #"{"android_v2":{"remote_notification":{"notification":{"image":"http://x/y.png"}}}}"#,
            "message.android_v2.remote_notification.notification.image"
        ),
        (#"{"android":{"notification":{"body_loc_args":["a"]}}}"#, "message.android.notification.body_loc_args"),
        (
            #"{"android":{"notification":{"titleLocArgs":["a"],"title_loc_key":"","body_loc_key":"k"}}}"#,
            "message.android.notification.title_loc_args"
        ),
        (
            #"{"android":{"notification":{"vibrate_timings":["0s","-0.1s"]}}}"#,
            "message.android.notification.vibrate_timings[1]"
        ),
        (
            #"{"android":{"notification":{"light_settings":{"color":{},"light_on_duration":"1s"}}}}"#,
            "message.android.notification.light_settings.light_off_duration"
        ),
        (
            #"{"android":{"notification":{"light_settings":{"color":null,"light_on_duration":"1s","light_off_duration":"1s"}}}}"#,
            "message.android.notification.light_settings.color"
        ),
        (
            #"{"android":{"notification":{"light_settings":{"color":{"red":1.5},"light_on_duration":"1s","light_off_duration":"1s"}}}}"#,
            "message.android.notification.light_settings.color.red"
        ),
        (
            #"{"android":{"notification":{"light_settings":{"color":{"alpha":"NaN"},"light_on_duration":"1s","light_off_duration":"1s"}}}}"#,
            "message.android.notification.light_settings.color.alpha"
        ),
        (
            #"{"android":{"notification":{"light_settings":{"color":{},"light_on_duration":"-1s","light_off_duration":"1s"}}}}"#,
            "message.android.notification.light_settings.light_on_duration"
        ),
        (#"{"android_v2":{"remote_notification":{},"background_sync":{}}}"#, "message.android_v2"),
        (#"{"webpush":{"headers":{"TTL":"soon"}}}"#, "message.webpush.headers.TTL"),
        (#"{"webpush":{"headers":{"ttl":"-1"}}}"#, "message.webpush.headers.ttl"),
        (#"{"webpush":{"headers":{"Urgency":"urgent"}}}"#, "message.webpush.headers.Urgency"),
        (#"{"webpush":{"headers":{"Topic":"a topic"}}}"#, "message.webpush.headers.Topic"),
        (#"{"webpush":{"headers":{"Topic":"a","TOPIC":"a"}}}"#, "message.webpush.headers.TOPIC"),
        (#"{"webpush":{"headers":{"a b":"x"}}}"#, "message.webpush.headers.a b"),
        (#"{"webpush":{"headers":{"x":"a\nb"}}}"#, "message.webpush.headers.x"),
    ])
    func aBrokenRuleNamesTheField(text: String, field: String) throws {
        let refusal = try #require(try refusal(of: text))
        #expect(refusal.violations.map(\.field) == [field])
        #expect(!refusal.isFrontEnd)
        #expect(!refusal.violations[0].description.isEmpty)
    }

    @Test(arguments: [
        #"{"android":{"priority":"High"}}"#, #"{"android":{"priority":"normal","ttl":"0s","collapse_key":"a b"}}"#,
        #"{"android":{"ttl":"2419200.9s"}}"#, #"{"android":{"data":{"aps":"x","collapse_key":"x","googlex":"y"}}}"#,
        #"{"android":{"notification":{"image":"http://example.com/x.png","body_loc_args":[]}}}"#,
        #"{"android":{"notification":{"body_loc_args":["a"],"bodyLocKey":"k"}}}"#,
        #"{"android":{"notification":{"proxy":"allow","visibility":"private","notification_priority":"priority_max"}}}"#,
        #"{"android_v2":{"remote_notification":{"notification":{"visibility":"Secret"}}}}"#,
        #"{"android_v2":{"background_sync":{}}}"#, #"{"android_v2":{"remote_notification":{"mutable_content":true}}}"#,
        #"{"webpush":{"headers":{"TTL":"15","Urgency":"very-low","topic":"a_b-9","image":"https://example.com/x"}}}"#,
        #"{"webpush":{"notification":{"title":"t","dir":"rtl","actions":[{"action":"a","title":"t"}],"vibrate":[1,2]}}}"#,
        #"{"webpush":{"fcm_options":{"link":"HTTPS://example.com/x?y#z"}}}"#,
        #"{"android":null,"android_v2":{},"webpush":{}}"#,
    ])
    func whatFCMTakesIsTaken(text: String) throws {
        #expect(try refusal(of: text) == nil)
    }

    @Test func violationsStandInTheOrderOfTheText() throws {
        let text =
            #"{"webpush":{"data":{"from":"x"}},"data":{"from":"x"},"android":{"ttl":"-1s","data":{"gcm.x":"y"}}}"#
        #expect(
            try refusal(of: text)?.violations.map(\.field) == [
                "message.webpush.data[0].key", "message.data[0].key", "message.android.ttl",
                "message.android.data[0].key",
            ])
    }

    @Test(arguments: [
        ("android", #""data":{"k":"@"}"#, 4095, "Android"),
        ("android_v2", #""remote_notification":{"notification":{"body":"@"}}"#, 4092, "Android"),
        ("webpush", #""notification":{"body":"@"}"#, 4092, "Web"),
    ])
    func whatIsTooBigForItsPlatformIsRefused(block: String, member: String, room: Int, platform: String) throws {
        func text(_ count: Int) -> String {
            let value = String(repeating: "x", count: count)
            return #"{"\#(block)":{\#(member.replacing("@", with: value))}}"#
        }
        #expect(try refusal(of: text(room)) == nil)
        let violation = try #require(try refusal(of: text(room + 1))?.violations.first)
        #expect(violation.field == "message.\(block)")
        #expect(violation.cause == .payloadTooLarge)
        #expect(
            violation.description
                == "\(platform) message is too big: its data and notification have 4097 bytes, the limit is 4096.")
    }

    @Test func whatABlockDoesNotSayCountsAsTheMessageSaysIt() throws {
        let long = String(repeating: "x", count: 3000)
        #expect(try refusal(of: #"{"data":{"k":"\#(long)"},"android":{"ttl":"1s"}}"#) == nil)
        let both = #"{"data":{"k":"\#(long)"},"android":{"notification":{"body":"\#(long)"}}}"#
        #expect(try refusal(of: both)?.violations.map(\.field) == ["message.android"])
        let own = #"{"data":{"k":"\#(long)"},"android":{"data":{"k":"v"},"notification":{"body":"\#(long)"}}}"#
        #expect(try refusal(of: own) == nil)
    }

    // fcm.md §10.12.
    @Test func androidsLifeAndKeyAreNotApples() throws {
        let text = #"{"notification":{"title":"t"},"android":{"ttl":"0s","collapse_key":"k","priority":"normal"}}"#
        let content = try FCMMessage(source: json(text))
        #expect(content.timeToLive(acceptedAt: Timestamp(seconds: 1_700_000_000), on: .apple) == .standard)
        #expect(content.apns.headers == APNSHeaders())
        #expect(try AppleTemplate(content).composed(keys: .none).headers == APNSHeaders())
    }

    @Test func blocksAreKeptAndNamed() throws {
        let text = #"{"webpush":{"headers":{"TTL":"1"}},"androidV2":{"ttl":"1s"},"apns":null}"#
        let content = try FCMMessage(source: json(text))
        #expect(content.source == (try json(text)))
        #expect(content.otherPlatforms == [.android, .webpush])
        #expect(try FCMMessage(source: json(#"{"android":null}"#)).otherPlatforms.isEmpty)
        // As an older version may have stored it.
        let stored = FCMMessage(stored: try json(#"{"android":{"anything":[1]}}"#))
        #expect(stored.otherPlatforms == [.android])
        #expect(FCMMessage(stored: .string("no message")).otherPlatforms.isEmpty)
    }
}

struct DurationTests {
    @Test(arguments: [
        ("0s", Duration.zero), ("3.5s", .milliseconds(3500)), ("1.000000001s", .seconds(1) + .nanoseconds(1)),
        ("-0.5s", .milliseconds(-500)), ("-2s", .seconds(-2)), ("315576000000s", .seconds(315_576_000_000)),
        ("007s", .seconds(7)),
    ])
    func durationsAreRead(text: String, duration: Duration) throws {
        #expect(try Duration(protoJSON: text) == duration)
    }

    @Test(arguments: [
        ("3", "Illegal duration format; duration must end with 's'"),
        ("xs", "Invalid duration format, failed to parse seconds"),
        ("1.xs", "Invalid duration format, failed to parse nano seconds"),
        ("315576000001s", "Duration value exceeds limits"), ("-315576000001s", "Duration value exceeds limits"),
    ])
    func otherTextsAreRefusedInGooglesWords(text: String, problem: String) throws {
        #expect(throws: DurationSyntaxError.self) { try Duration(protoJSON: text) }
        let violations = try #require(try refusal(of: #"{"android":{"ttl":"\#(text)"}}"#)).violations
        #expect(
            violations.map(\.description) == [
                "Invalid value at 'message.android.ttl' (type.googleapis.com/google.protobuf.Duration), Field 'ttl', "
                    + problem
            ])
        #expect(violations.map(\.cause) == [.wrongType])
    }
}
