import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

struct APNSMappingTests {
    /// One row as the documents have it, written down a second time: input, and the whole result it makes.
    struct Case: Sendable, CustomTestStringConvertible {
        let source: FCMSource
        let input: String
        var aps = "{}"
        var custom = "{}"
        var header: (@Sendable (APNSHeaders) -> Bool)?
        var testDescription: String { "\(source.rawValue) \(input)" }
    }

    static let cases = [
        Case(source: .title, input: #""t""#, aps: #"{"alert":{"title":"t"}}"#),
        Case(source: .subtitle, input: #""s""#, aps: #"{"alert":{"subtitle":"s"}}"#),
        Case(source: .body, input: #""b""#, aps: #"{"alert":{"body":"b"}}"#),
        Case(source: .titleLocKey, input: #""k""#, aps: #"{"alert":{"title-loc-key":"k"}}"#),
        Case(source: .titleLocArgs, input: #"["a","b"]"#, aps: #"{"alert":{"title-loc-args":["a","b"]}}"#),
        Case(source: .titleLocArgs, input: #""[\"a\"]""#, aps: #"{"alert":{"title-loc-args":["a"]}}"#),
        Case(source: .subtitleLocKey, input: #""k""#, aps: #"{"alert":{"subtitle-loc-key":"k"}}"#),
        Case(source: .subtitleLocArgs, input: #"["a"]"#, aps: #"{"alert":{"subtitle-loc-args":["a"]}}"#),
        Case(source: .bodyLocKey, input: #""k""#, aps: #"{"alert":{"loc-key":"k"}}"#),
        Case(source: .bodyLocArgs, input: #""[\"a\"]""#, aps: #"{"alert":{"loc-args":["a"]}}"#),
        Case(source: .badge, input: "3", aps: #"{"badge":3}"#),
        Case(source: .badge, input: #""0""#, aps: #"{"badge":0}"#),
        Case(source: .sound, input: #""default""#, aps: #"{"sound":"default"}"#),
        Case(
            source: .sound, input: #"{"critical":1,"name":"a","volume":0.5}"#,
            aps: #"{"sound":{"critical":1,"name":"a","volume":0.5}}"#),
        Case(source: .clickAction, input: #""c""#, aps: #"{"category":"c"}"#),
        Case(
            source: .image, input: #""https://x/i.png""#, aps: #"{"mutable-content":1}"#,
            custom: #"{"fcm_options":{"image":"https://x/i.png"}}"#),
        Case(source: .threadID, input: #""t""#, aps: #"{"thread-id":"t"}"#),
        Case(source: .interruptionLevel, input: #""passive""#, aps: #"{"interruption-level":"passive"}"#),
        Case(source: .relevanceScore, input: "0.25", aps: #"{"relevance-score":0.25}"#),
        Case(source: .targetContentID, input: #""w""#, aps: #"{"target-content-id":"w"}"#),
        Case(source: .contentAvailable, input: "true", aps: #"{"content-available":1}"#),
        Case(source: .contentAvailable, input: "false"),
        Case(source: .mutableContent, input: "true", aps: #"{"mutable-content":1}"#),
        Case(source: .mutableContent, input: "false"),
        Case(source: .priority, input: #""normal""#) { $0.priority == .conserving },
        Case(source: .priority, input: #""HIGH""#) { $0.priority == .immediate },
        Case(source: .timeToLive, input: "0") { $0.expiration == .once },
        Case(source: .timeToLive, input: "60") { $0.expiration == nil },
        Case(source: .collapseKey, input: #""score""#) { $0.collapseID == "score" },
        Case(source: .data, input: #"{"k":"1","l":"x"}"#, custom: #"{"k":"1","l":"x"}"#),
        Case(
            source: .payload,
            input: #"{"aps":{"badge":1,"content-available":true},"k":{"n":[1]},"fcm_options":{"x":1}}"#,
            aps: #"{"badge":1,"content-available":1}"#, custom: #"{"fcm_options":{"x":1},"k":{"n":[1]}}"#),
        Case(source: .messageID, input: #""0:1-a""#, custom: #"{"gcm.message_id":"0:1-a"}"#),
        Case(source: .sender, input: #""123""#, custom: #"{"google.c.sender.id":"123"}"#),
        Case(source: .broadcastTopic, input: #""/topics/n""#, custom: #"{"from":"/topics/n"}"#),
        Case(source: .isLabelled, input: #""1""#, custom: #"{"google.c.a.e":"1"}"#),
        Case(source: .label, input: #""l""#, custom: #"{"google.c.a.m_l":"l"}"#),
    ]

    @Test(arguments: cases)
    func eachSourceGoesToItsPlace(row: Case) throws {
        var template = AppleTemplate()
        template.values[row.source] = try json(row.input)
        let composition = try template.composed(keys: .full)
        #expect(text(composition.aps) == row.aps)
        #expect(text(composition.custom) == row.custom)
        if let header = row.header {
            #expect(header(composition.headers))
        } else {
            #expect(composition.headers == APNSHeaders())
        }
    }

    @Test func everySourceIsInTheTable() {
        #expect(Set(Self.cases.map(\.source)) == Set(FCMSource.allCases))
    }

    @Test(arguments: [
        (FCMSource.badge, #""many""#), (.badge, "-1"), (.sound, "1"), (.titleLocArgs, #""a""#), (.bodyLocArgs, "[1]"),
        (.interruptionLevel, #""loud""#), (.relevanceScore, #""x""#), (.title, "1"), (.priority, #""urgent""#),
        (.collapseKey, "\"\(String(repeating: "x", count: 65))\""), (.contentAvailable, #""yes""#),
    ])
    func aValueThatDoesNotFitIsRefusedByItsSource(source: FCMSource, input: String) throws {
        var template = AppleTemplate()
        template.values[source] = try json(input)
        let error = try #require(throws: InvalidMessage.self) { try template.composed(keys: .none) }
        #expect(error.violations.count == 1)
        #expect(error.violations[0].field.hasPrefix(source.rawValue))
    }

    @Test func withoutFirebaseKeysNothingOfTheGatewayGoesOut() throws {
        var template = AppleTemplate()
        for source in [FCMSource.image, .messageID, .sender, .broadcastTopic, .isLabelled, .label] {
            template.values[source] = .string("x")
        }
        let composition = try template.composed(keys: .none)
        #expect(composition.aps.isEmpty)
        #expect(composition.custom.isEmpty)
    }

    @Test func everythingAtOnceStandsSideBySide() throws {
        var template = AppleTemplate()
        template.values = [
            .title: .string("t"), .subtitle: .string("s"), .body: .string("b"), .badge: .string("1"),
            .sound: .string("default"), .clickAction: .string("c"), .mutableContent: .bool(true),
            .data: try json(#"{"k":"data","l":"data"}"#), .image: .string("i"), .broadcastTopic: .string("/topics/n"),
            .payload: try json(
                #"{"aps":{"sound":"own","badge":null},"k":"payload","from":"own","fcm_options":{"more":1}}"#),
        ]
        let composition = try template.composed(keys: .standard)
        #expect(
            text(composition.aps) == """
                {"alert":{"body":"b","subtitle":"s","title":"t"},"badge":1,"category":"c","mutable-content":1,\
                "sound":"own"}
                """)
        #expect(
            text(composition.custom)
                == #"{"fcm_options":{"image":"i","more":1},"from":"own","k":"payload","l":"data"}"#)
    }

    private func text(_ members: [JSONValue.Member]) -> String {
        String(decoding: JSONValue.object(members).canonicalBytes, as: UTF8.self)
    }
}
