import Testing

@testable import Simulators

@Suite("A push is shown as a phone would show it")
struct PresentationTests {
    private func push(_ payload: String, status: Int = 200, reason: String? = nil) -> RecordedPush {
        RecordedPush(
            number: 1, time: 0, connection: 1, deviceToken: "00fc13adb1946a",
            headers: ["apns-topic": "com.example.app", "apns-push-type": "alert"], payload: payload, status: status,
            reason: reason, apnsID: nil)
    }

    @Test("Android and browsers have the form of a phone")
    func otherPlatforms() {
        var message = push(
            #"{"message":{"token":"t","notification":{"title":"Hi","body":"there"},"data":{"a":"1"},"android":{"priority":"HIGH"}}}"#
        )
        message.deviceToken = "device-0001:APA91bExample"
        #expect(
            PushPresentation(android: message).text(width: 40) == """
                ┌ android · high · …xample ────────────┐
                │ Hi                                   │
                │ there                                │
                │ a: 1                                 │
                └ 200 ─────────────────────────────────┘
                """)
        let browser = RecordedWebPush(
            number: 1, time: 0, subscription: "s1-0123456789", headers: ["urgency": "normal"], senderKey: nil,
            plaintext: #"{"notification":{"title":"Hi\u001b[31m","navigate":"https://e.example/"},"data":{"a":"1"}}"#,
            bodyBytes: 200, status: 410, problem: "it has ended")
        #expect(
            PushPresentation(browser: browser).text(width: 40) == """
                ┌ browser · normal · …456789 ──────────┐
                │ Hi [31m                              │
                │ opens https://e.example/             │
                │ a: 1                                 │
                └ 410 it has ended ────────────────────┘
                """)
    }

    @Test("Everything has its place")
    func full() {
        let payload = #"""
            {"gcm.message_id":"17","aps":{"alert":{"title":"Your order","subtitle":"On its way","body":"Arrives today"},
            "badge":2,"sound":"default","category":"order","thread-id":"orders","mutable-content":1},
            "order":{"id":4711},"note":"x","google.c.sender.id":"42","fcm_options":{"image":"https://e.example/i.png"}}
            """#
        #expect(
            PushPresentation(push(payload)).text(width: 52) == """
                ┌ alert · com.example.app · …b1946a ───────────────┐
                │ Your order                                       │
                │ On its way                                       │
                │ Arrives today                                    │
                │ badge 2 · sound default · category order ·       │
                │ thread orders · mutable                          │
                │ image: https://e.example/i.png                   │
                │ order: {"id":4711}                               │
                │ note: x                                          │
                │ Firebase keys: gcm.message_id=17                 │
                │ google.c.sender.id=42                            │
                └ 200 ─────────────────────────────────────────────┘
                """)
    }

    @Test("A silent push says so")
    func silent() {
        let text = PushPresentation(push(#"{"aps":{"content-available":1}}"#)).text()
        #expect(text.contains("(silent: the user sees nothing)"))
        #expect(text.contains("wakes the app"))
    }

    @Test("Localised texts show key and arguments")
    func localised() {
        let text = PushPresentation(
            push(#"{"aps":{"alert":{"title-loc-key":"HELLO","title-loc-args":["Ada"],"loc-key":"BODY"}}}"#)
        ).text()
        #expect(text.contains("‹HELLO›(Ada)"))
        #expect(text.contains("‹BODY›"))
    }

    @Test("A payload cannot drive the terminal")
    func controlCharacters() {
        let text = PushPresentation(push(#"{"aps":{"alert":"a\u001b[31mb\u202ec\u0007"},"k\u001b":"\u009b"}"#)).text()
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" || $0 == "\u{9B}" })
        #expect(text.contains("a [31mbc"))
    }

    @Test("Colours come only when asked for")
    func colours() {
        let presentation = PushPresentation(push(#"{"aps":{"alert":{"title":"T"}},"gcm.x":1}"#))
        #expect(!presentation.text().contains("\u{1B}"))
        #expect(presentation.text(usesColour: true).contains("\u{1B}[1mT\u{1B}[0m"))
    }

    @Test(
        "All rows are equally wide, with wide characters too",
        arguments: [
            "日本語のとても長い通知メッセージが続きます", "🚀 launch 👩‍👩‍👧 family ❤️", "wordwithoutanyspaceatallthatislongerthantheline",
            "one\ntwo", "",
        ])
    func width(body: String) {
        let rows = PushPresentation(push("{\"aps\":{\"alert\":\(jsonString(body))}}")).text(width: 30).split(
            separator: "\n")
        #expect(rows.count >= 3)
        #expect(rows.allSatisfy { TerminalText.columns(of: $0) == 30 })
    }

    @Test("A refused or unanswered push shows that")
    func footing() {
        #expect(
            PushPresentation(push("{}", status: 410, reason: "Unregistered")).text().contains("└ 410 Unregistered ─"))
        #expect(PushPresentation(push("x", status: 0)).text().contains("└ no answer ─"))
    }
}

@Suite("JSON is read strictly")
struct JSONTests {
    @Test(
        "What RFC 8259 allows is read",
        arguments: [
            ("{}", JSON.object([])),
            (" [1, -0.5e+3 ,\"x\"] ", .array([.number("1"), .number("-0.5e+3"), .string("x")])),
            (#""\u00e9\ud83d\ude80\n\/""#, .string("é🚀\n/")),
            (
                #"{"a":{"b":[true,false,null]}}"#,
                .object([
                    .init(
                        key: "a", value: .object([.init(key: "b", value: .array([.bool(true), .bool(false), .null]))]))
                ])
            ),
            ("0", .number("0")),
        ])
    func good(text: String, value: JSON) {
        #expect(JSON.read(Array(text.utf8)) == value)
    }

    @Test(
        "What it does not allow is refused",
        arguments: [
            "", "{", "{}x", "[1,]", "{\"a\":1,}", "{a:1}", "'x'", "01", "1.", ".5", "+1", "1e", "tru", "\"\n\"",
            "\"\\x\"",
            "\"\\ud800\"", "\"\\u12\"", "\"open", "NaN", "[1 2]", "{\"a\" 1}", "// x\n{}",
            String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
        ])
    func bad(text: String) {
        #expect(JSON.read(Array(text.utf8)) == nil)
    }

    @Test("Base64 in both alphabets is read, anything else is not")
    func base64() {
        #expect(base64Decoded("-_8") == [0xFB, 0xFF])
        #expect(base64Decoded("+/8=") == [0xFB, 0xFF])
        #expect(base64Decoded("TQ==") == [0x4D])
        #expect(base64Decoded("") == [])
        #expect(base64Decoded("A") == nil)
        #expect(base64Decoded("A=B=") == nil)
        #expect(base64Decoded("TQ===") == nil)
        #expect(base64Decoded("T Q") == nil)
    }

    @Test(
        "Dates of HTTP are right",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_709_164_799, "Wed, 28 Feb 2024 23:59:59 GMT"), (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
        ] as [(Int64, String)])
    func date(seconds: Int64, text: String) {
        #expect(HTTPDate.format(seconds) == text)
    }
}
