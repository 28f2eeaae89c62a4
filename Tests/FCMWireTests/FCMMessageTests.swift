import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

struct FrontEndTests {
    struct Case: CustomTestStringConvertible {
        let message: String
        let field: String
        let text: String
        var testDescription: String { message }
    }

    static let unknown = "Invalid JSON payload received. Unknown name"
    static let cases = [
        Case(
            message: #"{"notification":{"icon":"x"}}"#, field: "message.notification",
            text: #"\#(unknown) "icon" at 'message.notification': Cannot find field."#),
        Case(
            message: #"{"to":"x"}"#, field: "message", text: #"\#(unknown) "to" at 'message': Cannot find field."#),
        Case(
            message: #"{"apns":{"fcmOptions":{"link":"x"}}}"#, field: "message.apns.fcm_options",
            text: #"\#(unknown) "link" at 'message.apns.fcm_options': Cannot find field."#),
        Case(
            message: #"{"data":{"k":12}}"#, field: "message.data[0].value",
            text: "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"),
        Case(
            message: #"{"data":{"a":"b","k":true}}"#, field: "message.data[1].value",
            text: "Invalid value at 'message.data[1].value' (TYPE_STRING), true"),
        Case(
            message: #"{"data":{"k":{"n":1}}}"#, field: "message.data[0].value",
            text: "Invalid value at 'message.data[0]' (value), Starting an object on a scalar field"),
        Case(
            message: #"{"data":[]}"#, field: "message.data",
            text: #"\#(unknown) "data" at 'message': Cannot bind a list to map for field 'data'."#),
        Case(
            message: #"{"data":"x"}"#, field: "message.data",
            text: "Invalid value at 'message.data' "
                + #"(type.googleapis.com/google.firebase.fcm.v1.Message.DataEntry), "x""#),
        Case(
            message: #"{"notification":"hi"}"#, field: "message.notification",
            text: "Invalid value at 'message.notification' "
                + #"(type.googleapis.com/google.firebase.fcm.v1.Notification), "hi""#),
        Case(
            message: #"{"notification":{"title":["a"]}}"#, field: "message.notification.title",
            text: #"\#(unknown) "title" at 'message.notification': Proto field is not repeating, cannot start list."#),
        Case(
            message: #"{"notification":{"title":{}}}"#, field: "message.notification.title",
            text: "Invalid value at 'message.notification' (title), Starting an object on a scalar field"),
        Case(
            message: #"{"android":1}"#, field: "message.android",
            text: "Invalid value at 'message.android' "
                + "(type.googleapis.com/google.firebase.fcm.v1.AndroidConfig), 1"),
        Case(
            message: #"{"webpush":[]}"#, field: "message.webpush",
            text: #"\#(unknown) "webpush" at 'message': Proto field is not repeating, cannot start list."#),
        Case(
            message: #"{"android":{"priority":"urgent"}}"#, field: "message.android.priority",
            text: "Invalid value at 'message.android.priority' "
                + #"(type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority), "urgent""#),
        Case(
            message: #"{"android":{"notification":{"sticky":1}}}"#, field: "message.android.notification.sticky",
            text: "Invalid value at 'message.android.notification.sticky' (TYPE_BOOL), 1"),
        Case(
            message: #"{"android":{"notification":{"eventTime":"today"}}}"#,
            field: "message.android.notification.event_time",
            text: "Invalid value at 'message.android.notification.event_time' "
                + "(type.googleapis.com/google.protobuf.Timestamp), Field 'event_time', Invalid time format: today"),
        Case(
            message: #"{"fcm_options":{},"fcmOptions":{}}"#, field: "message.fcm_options",
            text: #"Invalid JSON payload received. Duplicate name "fcmOptions" at 'message': "#
                + "The field is given in snake_case and in camelCase."),
        Case(
            message: #"{"apns":{"headers":{"apns-priority":10}}}"#, field: "message.apns.headers[0].value",
            text: "Invalid value at 'message.apns.headers[0].value' (TYPE_STRING), 10"),
        Case(
            message: #"{"apns":{"payload":"x"}}"#, field: "message.apns.payload",
            text: "Invalid value at 'message.apns.payload' (type.googleapis.com/google.protobuf.Struct), \"x\""),
        Case(
            message: #"{"token":5}"#, field: "message.token",
            text: "Invalid value at 'message.token' (TYPE_STRING), 5"),
        Case(
            message: #"{"fcm_options":{"analyticsLabel":5}}"#, field: "message.fcm_options.analytics_label",
            text: "Invalid value at 'message.fcm_options.analytics_label' (TYPE_STRING), 5"),
        Case(
            message: "7", field: "message",
            text: "Invalid value at 'message' (type.googleapis.com/google.firebase.fcm.v1.Message), 7"),
    ]

    @Test(arguments: cases)
    func wrongNamesAndTypesAreRefusedInGooglesWords(wrong: Case) throws {
        let expected = InvalidMessage([FieldViolation(field: wrong.field, description: wrong.text)], isFrontEnd: true)
        #expect(try refusal(of: wrong.message) == expected)
    }

    @Test(arguments: ["5", "10"])
    func aHeaderUnderTwoSpellingsIsRefused(second: String) throws {
        let text = ##"{"apns":{"headers":{"apns-priority":"10","APNS-Priority":"\##(second)"}}}"##
        let violations = try #require(try refusal(of: text)?.violations)
        #expect(violations.map(\.field) == ["message.apns.headers.APNS-Priority"])
        #expect(violations[0].description == "The header apns-priority is given twice.")
    }

    @Test func allViolationsAreListedInTheOrderOfTheText() throws {
        let text = #"{"x":1,"data":{"a":1,"b":"","c":2},"apns":{"y":1,"payload":3},"notification":{"z":1}}"#
        #expect(
            try refusal(of: text)?.violations.map(\.field) == [
                "message", "message.data[0].value", "message.data[2].value", "message.apns", "message.apns.payload",
                "message.notification",
            ])
    }

    @Test(arguments: [
        #"{"@0":1}"#, #"{"data":{"google.@0":"1"}}"#, #"{"apns":{"headers":{"@0":"1"}}}"#,
        #"{"apns":{"payload":{"gcm.@0":"1"}}}"#, #"{"token":1@1}"#,
    ])
    func longTextsAreNotRepeatedInFull(text: String) throws {
        let long = text.replacing("@0", with: "e" + String(repeating: "\u{301}", count: 5000))
            .replacing("@1", with: String(repeating: "1", count: 5000))
        let violations = try #require(try refusal(of: long)).violations
        #expect(violations.count == 1)
        #expect(violations[0].description.utf8.count < 400)
        #expect(violations[0].field.utf8.count < 200)
    }

    @Test(arguments: [
        ("{", #""n@":1"#, "}"), (#"{"data":{"#, #""n@":1"#, "}}"), (#"{"data":{"#, #""gcm.@":"1""#, "}}"),
        (#"{"apns":{"headers":{"#, #""n@":"1""#, "}}}"), (#"{"apns":{"payload":{"#, #""gcm.@":1"#, "}}}"),
        (#"{"apns":{"payload":{"aps":{"url-args":["#, "@", "]}}}}"),
    ])
    func ofManyViolationsTheFirstTwentyAreListed(start: String, member: String, end: String) throws {
        let members = (1...50_000).map { member.replacing("@", with: String($0)) }.joined(separator: ",")
        let violations = try #require(try refusal(of: start + members + end)).violations
        #expect(violations.count == 20)
        #expect(violations.reduce(0) { $0 + $1.description.utf8.count + $1.field.utf8.count } < 8_000)
    }

    @Test(arguments: ["{\"notification\":null,\"data\":null,\"apns\":null}", "{}", "null"])
    func nullCountsAsAbsent(text: String) throws {
        let content = try FCMMessage(source: json(text))
        #expect(content.notification == nil)
        #expect(content.data.isEmpty)
    }

    @Test(arguments: [
        (#"{"data":{"a":"b","c":null}}"#, "message.data[1].value"),
        (#"{"android":{"data":{"c":null}}}"#, "message.android.data[0].value"),
        (#"{"apns":{"headers":{"apns-priority":null}}}"#, "message.apns.headers[0].value"),
        (#"{"apns":{"payload":{"k":1e400}}}"#, "message.apns.payload.k"),
        (#"{"apns":{"payload":{"k":{"n":[1,-1e999]}}}}"#, "message.apns.payload.k.n[1]"),
        (#"{"webpush":{"notification":{"timestamp":1e309}}}"#, "message.webpush.notification.timestamp"),
    ])
    func whatNoMessageCanHoldIsOfAWrongType(text: String, field: String) throws {
        let refusal = try #require(try refusal(of: text))
        #expect(refusal.isFrontEnd)
        #expect(refusal.violations.map(\.field) == [field])
        #expect(refusal.violations.first?.cause == .wrongType)
    }

    @Test func numbersThatADoubleHoldsAreTaken() throws {
        let text = #"{"apns":{"payload":{"k":[1.7976931348623157e308,1e-400,123456789012345678901234567890]}}}"#
        #expect(try refusal(of: text) == nil)
    }

    @Test func bothSpellingsAreRead() throws {
        let activity = #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#
        let token = String(repeating: "0aFF", count: 16)
        let snake = try FCMMessage(
            source: json(
                #"{"fcm_options":{"analytics_label":"l"},"apns":{"fcm_options":{"image":"https://x/i"},"#
                    + #""live_activity_token":"\#(token)","payload":\#(activity)}}"#
            ))
        let camel = try FCMMessage(
            source: json(
                #"{"fcmOptions":{"analyticsLabel":"l"},"apns":{"fcmOptions":{"image":"https://x/i"},"#
                    + #""liveActivityToken":"\#(token)","payload":\#(activity)}}"#
            ))
        for content in [snake, camel] {
            #expect(content.label?.rawValue == "l")
            #expect(content.apns.image == "https://x/i")
            #expect(content.apns.liveActivityToken?.hex == token.lowercased())
        }
    }

    @Test func theLabelOfAppleOverridesTheCommonOne() throws {
        let text = #"{"apns":{"fcm_options":{"analytics_label":"apple"}},"fcm_options":{"analytics_label":"all"}}"#
        #expect(try FCMMessage(source: json(text)).label?.rawValue == "apple")
    }

    @Test func dataKeepsTheOrderOfTheSender() throws {
        let content = try FCMMessage(source: json(#"{"data":{"b":"1","a":"2","b":"3"}}"#))
        #expect(content.data.map(\.key) == ["a", "b"])
        #expect(content.data.map(\.value) == ["2", "3"])
    }

    @Test func aStoredMessageThatWouldBeRefusedNowIsStillRead() throws {
        let text =
            #"{"gone":1,"notification":{"title":"t","body":7},"data":{"from":"a","k":"v","n":3},"fcm_options":"#
            + #"{"analytics_label":"not a label"},"apns":{"headers":{"apns-topic":"a\nb","apns-priority":"7","#
            + #""apns-collapse-id":"c","x-new":"1"},"payload":{"aps":{"badge":"one"}},"live_activity_token":"zz"}}"#
        #expect(try refusal(of: text) != nil)
        let content = FCMMessage(stored: try json(text))
        #expect(content.source == (try json(text)))
        #expect(content.notification?.title == "t")
        #expect(content.notification?.body == nil)
        #expect(content.data.map(\.key) == ["from", "k"])
        var headers = APNSHeaders()
        headers.collapseID = "c"
        #expect(content.apns.headers == headers)
        #expect(content.apns.payload == (try json(#"{"aps":{"badge":"one"}}"#)))
        #expect(content.apns.liveActivityToken == nil)
        #expect(content.label == nil)
        #expect(FCMMessage(stored: .string("not a message")).notification == nil)
        let both = #"{"fcm_options":{"analytics_label":"a"},"fcmOptions":{"analytics_label":"b"}}"#
        #expect(FCMMessage(stored: try json(both)).label?.rawValue == "b")
    }

    @Test func aMessageIsReadAgainFromItsSource() throws {
        let text =
            #"{"notification":{"title":"t"},"apns":{"headers":{"APNS-Priority":"5","apns-expiration":"0"}},"data":{"k":"v"}}"#
        let first = try FCMMessage(source: json(text))
        let again = try FCMMessage(source: JSONValue(parsing: first.bytes), bytes: first.bytes)
        #expect(again.bytes == first.bytes)
        #expect(again.isDisplayed == FCMMessage(stored: first.source).isDisplayed)
        #expect(again.notification == first.notification)
        #expect(again.data == first.data)
        #expect(again.apns.headers == first.apns.headers)
        #expect(again.apns.headers.priority == .conserving)
        #expect(again.apns.headers.expiration == .once)
    }
}

struct MessageRuleTests {
    @Test(arguments: [
        (#"{"data":{"from":"x"}}"#, "message.data[0].key"),
        (#"{"data":{"a":"b","message_type":"x"}}"#, "message.data[1].key"),
        (#"{"data":{"google.x":"x"}}"#, "message.data[0].key"),
        (#"{"data":{"gcm.notification.x":"x"}}"#, "message.data[0].key"),
        (#"{"data":{"gcm.́x":"x"}}"#, "message.data[0].key"),
        (#"{"data":{"aps":"x"}}"#, "message.data[0].key"),
        (#"{"data":{"fcm_options":"x"},"notification":{"image":"https://x/y.png"}}"#, "message.data[0].key"),
        (#"{"notification":{"image":"http://x/y.png"}}"#, "message.notification.image"),
        (#"{"notification":{"image":"y.png"}}"#, "message.notification.image"),
        (#"{"apns":{"fcm_options":{"image":"https://"}}}"#, "message.apns.fcm_options.image"),
        (#"{"fcm_options":{"analytics_label":"a b"}}"#, "message.fcm_options.analytics_label"),
        (#"{"apns":{"fcm_options":{"analytics_label":"é"}}}"#, "message.apns.fcm_options.analytics_label"),
        (#"{"android":{},"android_v2":{}}"#, "message.android_v2"),
        (#"{"apns":{"live_activity_token":"xyz"}}"#, "message.apns.live_activity_token"),
        (
            #"{"apns":{"live_activity_token":"\#(activityToken.dropLast(2))","payload":{"aps":"#
                + #"{"timestamp":1,"event":"update","content-state":{}}}}}"#, "message.apns.live_activity_token"
        ),
        (#"{"apns":{"payload":{"gcm.message_id":"1"}}}"#, "message.apns.payload.gcm.message_id"),
        (#"{"apns":{"payload":{"google.c.fid":"1"}}}"#, "message.apns.payload.google.c.fid"),
    ])
    func rulesOfFCMNameTheField(text: String, field: String) throws {
        let refusal = try #require(try refusal(of: text))
        #expect(refusal.violations.map(\.field) == [field])
        #expect(!refusal.isFrontEnd)
        #expect(!refusal.violations[0].description.isEmpty)
    }

    @Test(arguments: [
        #"{"data":{"collapse_key":"x","googlex":"y","fcm_options":"z","gcmx":"1"}}"#,
        #"{"android":{"priority":"high","data":{"aps":"x"}},"webpush":{"headers":{"TTL":"1"}}}"#,
        #"{"name":"projects/p/messages/1","token":"x"}"#, #"{"apns":{"payload":{"google":"x","gcm":"y"}}}"#,
    ])
    func whatFCMTakesIsTaken(text: String) throws {
        #expect(try refusal(of: text) == nil)
    }

    @Test(arguments: [
        ("apns-push-type", "Alert"), ("apns-push-type", ""), ("apns-topic", ""), ("apns-topic", "a b"),
        ("apns-priority", "7"), ("apns-priority", "05"), ("apns-priority", "high"), ("apns-expiration", "-1"),
        ("apns-expiration", "1.5"), ("apns-expiration", ""), ("apns-expiration", "+5"),
        ("apns-expiration", "99999999999999999999"), ("apns-expiration", "253402300800"), ("apns-collapse-id", ""),
        ("apns-collapse-id", String(repeating: "x", count: 65)),
        ("apns-collapse-id", String(repeating: "é", count: 33)),
        ("apns-collapse-id", "a\\nb"), ("apns-collapse-id", " a"), ("apns-id", "123"),
        ("apns-id", "123e4567e89b12d3a456426614174000"), ("apns-channel-id", "x"), ("authorization", "bearer x"),
        ("apns-request-id", "x"),
    ])
    func wrongHeadersAreRefusedByName(name: String, value: String) throws {
        let refusal = try #require(try refusal(of: #"{"apns":{"headers":{"\#(name)":"\#(value)"}}}"#))
        #expect(refusal.violations.map(\.field) == ["message.apns.headers.\(name)"])
        #expect(refusal.violations[0].description.contains(name))
        #expect(!refusal.isFrontEnd)
    }

    @Test func headersAreReadInAnyCase() throws {
        let text = """
            {"apns":{"headers":{"Apns-Push-Type":"voip","APNS-TOPIC":"com.example.app.voip","apns-Priority":"1",
            "apns-expiration":"1700000000","apns-collapse-id":"score é","apns-id":"123E4567-e89b-12d3-a456-426614174000"}}}
            """
        var expected = APNSHeaders()
        expected.pushType = .voip
        expected.topic = "com.example.app.voip"
        expected.priority = .low
        expected.expiration = .until(Timestamp(seconds: 1_700_000_000))
        expected.collapseID = "score é"
        expected.id = PushID(rawValue: "123e4567-e89b-12d3-a456-426614174000")
        #expect(try FCMMessage(source: json(text)).apns.headers == expected)
    }

    @Test(arguments: [
        (#""badge":"1""#, "badge"), (#""badge":-1"#, "badge"), (#""badge":1.5"#, "badge"), (#""badge":true"#, "badge"),
        (#""alert":1"#, "alert"), (#""alert":[]"#, "alert"), (#""alert":{"title":1}"#, "alert.title"),
        (#""alert":{"loc-args":"x"}"#, "alert.loc-args"), (#""alert":{"loc-args":["x",1]}"#, "alert.loc-args[1]"),
        (#""alert":{"loc-args":[null]}"#, "alert.loc-args[0]"),
        (#""alert":{"title":{"loc-key":1}}"#, "alert.title.loc-key"), (#""sound":1"#, "sound"),
        (#""sound":{"critical":2}"#, "sound.critical"), (#""sound":{"volume":1.01}"#, "sound.volume"),
        (#""sound":{"name":1}"#, "sound.name"), (#""thread-id":1"#, "thread-id"), (#""category":{}"#, "category"),
        (#""target-content-id":1"#, "target-content-id"), (#""filter-criteria":1"#, "filter-criteria"),
        (#""content-available":2"#, "content-available"), (#""content-available":"1""#, "content-available"),
        (#""mutable-content":[]"#, "mutable-content"), (#""interruption-level":"loud""#, "interruption-level"),
        (#""relevance-score":"0.5""#, "relevance-score"), (#""timestamp":"1""#, "timestamp"),
        (#""event":"begin""#, "event"), (#""content-state":"x""#, "content-state"),
        (#""stale-date":"x""#, "stale-date"),
        (#""dismissal-date":"x""#, "dismissal-date"), (#""attributes-type":1"#, "attributes-type"),
        (#""attributes":[]"#, "attributes"), (#""input-push-channel":1"#, "input-push-channel"),
        (#""input-push-token":"1""#, "input-push-token"), (#""content-changed":1"#, "content-changed"),
        (#""url-args":"x""#, "url-args"),
    ])
    func wrongTypesInApsAreRefusedWithTheirPath(member: String, path: String) throws {
        let refusal = try #require(try refusal(of: #"{"apns":{"payload":{"aps":{\#(member)}}}}"#))
        #expect(refusal.violations.map(\.field) == ["message.apns.payload.aps.\(path)"])
        #expect(!refusal.isFrontEnd)
    }

    @Test func apsMustBeAnObject() throws {
        #expect(
            try refusal(of: #"{"apns":{"payload":{"aps":"x"}}}"#)?.violations
                == [FieldViolation(field: "message.apns.payload.aps", description: "aps must be an object.")])
    }

    @Test func everyDocumentedApsKeyIsTaken() throws {
        let aps = """
            {"alert":{"title":"t","subtitle":"s","body":"b","launch-image":"l","title-loc-key":"k","title-loc-args":["a"],
            "subtitle-loc-key":"k","subtitle-loc-args":[],"loc-key":"k","loc-args":["a","b"],"sound":"x","new-key":[1]},
            "badge":0,"sound":{"critical":1,"name":"default","volume":0.5},"thread-id":"t","category":"c",
            "target-content-id":"i","filter-criteria":"f","content-available":true,"mutable-content":1.0,
            "interruption-level":"time-sensitive","relevance-score":75.5,"timestamp":1700000000,"event":"start",
            "content-state":{"any":[1]},"stale-date":1,"dismissal-date":2,"attributes-type":"A","attributes":{},
            "input-push-channel":"dHN0LXNyY2gtY2hubA==","input-push-token":1,"content-changed":true,"url-args":["a"],"of-the-future":{"x":1},
            "category":null}
            """
        #expect(
            try refusal(of: #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":\#(aps)}}}"#) == nil)
    }

    @Test(arguments: [
        ("0", "", true), ("1", "", true), ("1.0", "", true), ("-0.1", "", false), ("1.01", "", false),
        ("75", "", false), ("75", #","headers":{"apns-push-type":"alert"}"#, false),
        ("75", #","headers":{"apns-push-type":"liveactivity"}"#, true),
        ("75", #","live_activity_token":"\#(activityToken)""#, true),
        ("-75", #","headers":{"apns-topic":"com.example.app.push-type.liveactivity"}"#, true),
    ])
    func onlyALiveActivityHasAnyRelevance(score: String, rest: String, isTaken: Bool) throws {
        let activity = isTaken && !rest.isEmpty ? #","timestamp":1,"event":"update","content-state":{}"# : ""
        let found = try refusal(of: #"{"apns":{"payload":{"aps":{"relevance-score":\#(score)\#(activity)}}\#(rest)}}"#)
        #expect(found?.violations.map(\.field) == (isTaken ? nil : ["message.apns.payload.aps.relevance-score"]))
    }

    @Test(
        arguments: [
            (#"{"loc-args":["a"]}"#, "loc-args"), (#"{"loc-key":null,"loc-args":["a"]}"#, "loc-args"),
            (#"{"title-loc-args":["a"],"loc-key":"k"}"#, "title-loc-args"),
            (#"{"subtitle-loc-args":["a"]}"#, "subtitle-loc-args"),
            (#"{"title":{"loc-args":["a"]},"loc-key":"k"}"#, "title.loc-args"),
            (#"{"loc-args":["a"],"loc-key":"k"}"#, nil), (#"{"loc-args":[]}"#, nil), (#"{"loc-args":null}"#, nil),
        ] as [(String, String?)])
    func argumentsNeedTheirKey(alert: String, wrong: String?) throws {
        let found = try refusal(of: #"{"apns":{"payload":{"aps":{"alert":\#(alert)}}}}"#)
        #expect(found?.violations.map(\.field) == wrong.map { ["message.apns.payload.aps.alert.\($0)"] })
    }
}

struct TargetTests {
    @Test(arguments: [
        (#"{"token":"abc"}"#, Target.token("abc")), (#"{"token":""}"#, .token("")),
        (#"{"topic":"news"}"#, .topic(Topic(rawValue: "news")!)),
        (#"{"topic":"/topics/news","token":null}"#, .topic(Topic(rawValue: "news")!)),
        (
            #"{"fid":"cabcdefghijklmnopqrstu"}"#,
            .registration(RegistrationID(rawValue: "cabcdefghijklmnopqrstu")!)
        ),
        (
            #"{"condition":"'a' in topics"}"#,
            .condition(Condition(text: "'a' in topics", expression: .subscribed(Topic(rawValue: "a")!)))
        ),
    ])
    func targetsAreRead(text: String, target: Target) throws {
        #expect(try FCMMessage.target(of: json(text)) == target)
    }

    @Test(arguments: [
        (#"{"token":"a","topic":"b"}"#, "message", true), (#"{"fid":"x"}"#, "message.fid", false),
        (#"{"topic":"a b"}"#, "message.topic", false), (#"{"topic":"/topics/"}"#, "message.topic", false),
        (#"{"topic":"/topics//topics/a"}"#, "message.topic", false),
        (#"{"condition":"a"}"#, "message.condition", false), (#"{"topic":1}"#, "message.topic", true),
    ])
    func otherTargetsAreRefused(text: String, field: String, isFrontEnd: Bool) throws {
        let error = try #require(throws: InvalidMessage.self) { try FCMMessage.target(of: json(text)) }
        #expect(error.violations.map(\.field) == [field])
        #expect(error.isFrontEnd == isFrontEnd)
    }

    @Test(arguments: ["{}", #"{"token":null}"#, "null"])
    func aMessageWithoutATargetNamesNone(text: String) throws {
        #expect(try FCMMessage.target(of: json(text)) == nil)
    }

    @Test func aWrongConditionIsToldWithItsPlace() throws {
        let error = try #require(throws: InvalidMessage.self) {
            try FCMMessage.target(of: json(#"{"condition":"'a' in topics & 'b' in topics"}"#))
        }
        #expect(error.violations[0].description == "Malformed condition at byte 14: expected '&&' or '||'.")
    }

    @Test func aSecondTargetIsRefusedInGooglesWords() throws {
        let error = try #require(throws: InvalidMessage.self) {
            try FCMMessage.target(of: json(#"{"topic":"b","token":"a"}"#))
        }
        #expect(
            error.violations[0].description
                == "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set 'token'")
    }

    @Test func registrationsAreNamedByIdOrToken() {
        let fid = "cabcdefghijklmnopqrstu"
        #expect(RegistrationReference(rawValue: fid) == .id(RegistrationID(rawValue: fid)!))
        let token = "\(fid):APA91bxyz"
        #expect(RegistrationReference(rawValue: token) == .token(RegistrationToken(rawValue: token)!))
        for malformed in ["", "short", "a:b", "12345678:1234567", "1234567:12345678", "12345678:1234567 8"] {
            #expect(RegistrationReference(rawValue: malformed) == nil)
        }
        #expect(RegistrationReference(rawValue: "12345678:" + String(repeating: "x", count: 4088)) == nil)
    }
}
