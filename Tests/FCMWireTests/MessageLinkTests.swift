import FCMWire
import JSON
import PushModel
import Testing

/// Where the links of a message stand.
struct MessageLinkTests {
    private func message(_ text: String) throws -> FCMMessage {
        try FCMMessage(source: JSONValue(parsing: Array(text.utf8)))
    }

    /// Messages with a link at one place each.
    static let places = [
        #"{"data":{"link":"LINK"}}"#, #"{"data":{"a":"b","url":"LINK"}}"#, #"{"data":{"deep_link":"LINK"}}"#,
        #"{"android":{"data":{"link":"LINK"}}}"#, #"{"android":{"notification":{"click_action":"LINK"}}}"#,
        #"{"android":{"notification":{"clickAction":"LINK"}}}"#,
        #"{"androidV2":{"remoteNotification":{"notification":{"clickAction":"LINK"}}}}"#,
        #"{"webpush":{"fcm_options":{"link":"LINK"}}}"#,
        #"{"webpush":{"fcmOptions":{"link":"LINK"},"data":{"k":"v"}}}"#,
        #"{"webpush":{"data":{"url":"LINK"}}}"#, #"{"apns":{"payload":{"aps":{"alert":"x"},"link":"LINK"}}}"#,
        #"{"apns":{"payload":{"aps":{"alert":"x","category":"LINK"}}}}"#,
    ]

    @Test(
        "a link is found and replaced where apps and browsers look for it, and nothing else changes", arguments: places)
    func place(text: String) throws {
        let link = "https://www.example.com/p/1?a=b&c=d"
        let original = try message(text.replacing("LINK", with: link))
        #expect(original.links == [link])
        let replaced = original.replacingLinks([link: "https://go.example.com/x"])
        #expect(
            String(decoding: replaced.bytes, as: UTF8.self) == text.replacing("LINK", with: "https://go.example.com/x"))
        #expect(original.replacingLinks([:]).bytes == original.bytes)
    }

    @Test(
        "what stands elsewhere is no link",
        arguments: [
            #"{"notification":{"title":"https://a.example","body":"https://a.example","image":"https://a.example/i.png"}}"#,
            #"{"data":{"Link":"https://a.example","deepLink":"https://a.example","image":"https://a.example"}}"#,
            #"{"apns":{"payload":{"aps":{"alert":"x"},"more":{"link":"https://a.example"},"url":1}}}"#,
            #"{"webpush":{"headers":{"link":"https://a.example"},"notification":{"link":"https://a.example"}}}"#,
            #"{"data":{"link":""},"fcm_options":{"analytics_label":"link"}}"#,
        ])
    func elsewhere(text: String) throws {
        let original = try message(text)
        #expect(original.links.isEmpty)
        #expect(original.replacingLinks(["https://a.example": "x", "": "x", "link": "x"]).bytes == original.bytes)
    }

    @Test("each link is named once, and replaced wherever it stands")
    func repeats() throws {
        let original = try message(
            #"{"data":{"url":"https://b.example","link":"https://a.example"},"fcm_options":{"analytics_label":"spring"},"#
                + #""apns":{"payload":{"aps":{"alert":"x"},"link":"https://a.example"}}}"#)
        #expect(original.links == ["https://b.example", "https://a.example"])
        let replaced = original.replacingLinks(["https://a.example": "c"])
        #expect(replaced.links == ["https://b.example", "c"] && replaced.label?.rawValue == "spring")
        #expect(replaced.data.map(\.value) == ["https://b.example", "c"])
        #expect(replaced.apns.payload?["link"] == .string("c"))
    }
}
