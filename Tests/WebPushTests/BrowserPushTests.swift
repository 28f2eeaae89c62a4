import FCMWire
import Foundation
import JSON
import PushModel
import TestSupport
import Testing

@testable import WebPush

/// What a message becomes for browsers.
struct BrowserPushTests {
    private static let app = App(web: AppID(rawValue: "www.example.com")!)
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func push(
        _ json: String, topic: Topic? = nil, collapsesRepeats: Bool = false
    ) throws -> BrowserPush {
        let message = try FCMMessage(source: JSONValue(parsing: Array(json.utf8)))
        return try BrowserPush(
            message,
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: topic,
                collapsesRepeats: collapsesRepeats, app: Self.app, expiresAt: Self.now + .seconds(3600),
                acceptedAt: Self.now))
    }

    private func text(_ push: BrowserPush) -> String { String(decoding: push.payload, as: UTF8.self) }

    @Test func aNotificationIsDeclarativeAndReadableForFirebasesWorker() throws {
        let push = try push(#"{"notification":{"title":"Hello","body":"All"},"data":{"a":"1"}}"#)
        #expect(
            text(push)
                == #"{"web_push":8030,"notification":{"title":"Hello","body":"All","navigate":"https://www.example.com/"},"#
                + #""data":{"a":"1"},"from":"123","fcmMessageId":"m-1"}"#)
        #expect(push.isDisplayed && push.urgency == .normal && push.replaces == nil)
    }

    @Test func theBlockForBrowsersGoesOverTheCommonFields() throws {
        let push = try push(
            #"{"notification":{"title":"Hello","body":"All","image":"https://a.example/i"},"data":{"a":"1"},"#
                + #""webpush":{"notification":{"title":"Web","icon":"i.png","requireInteraction":true},"data":{"b":"2"},"#
                + #""fcm_options":{"link":"https://www.example.com/x","analytics_label":"spring"}}}"#)
        #expect(
            text(push)
                == #"{"web_push":8030,"notification":{"body":"All","image":"https://a.example/i","title":"Web","#
                + #""icon":"i.png","requireInteraction":true,"navigate":"https://www.example.com/x"},"data":{"b":"2"},"#
                + #""fcmOptions":{"link":"https://www.example.com/x","analyticsLabel":"spring"},"from":"123","#
                + #""fcmMessageId":"m-1"}"#)
    }

    /// In protobuf's JSON mapping an empty map is none.
    @Test func emptyDataOfTheBlockLeavesTheCommonOnes() throws {
        let push = try push(#"{"data":{"a":"1"},"webpush":{"data":{}}}"#)
        #expect(text(push) == #"{"data":{"a":"1"},"from":"123","fcmMessageId":"m-1"}"#)
    }

    @Test func aBroadcastSaysFromWhichTopicItComes() throws {
        let push = try push(#"{"data":{"a":"1"}}"#, topic: Topic(rawValue: "news"))
        #expect(text(push) == #"{"data":{"a":"1"},"from":"/topics/news","fcmMessageId":"m-1"}"#)
        #expect(!push.isDisplayed)
    }

    @Test func blocksOfOtherPlatformsAreNoPartOfIt() throws {
        let push = try push(
            #"{"data":{"a":"1"},"android":{"collapse_key":"k","ttl":"5s","priority":"high"},"#
                + #""apns":{"headers":{"apns-collapse-id":"c"},"payload":{"aps":{"badge":1},"x":1}}}"#)
        #expect(text(push) == #"{"data":{"a":"1"},"from":"123","fcmMessageId":"m-1"}"#)
        #expect(push.urgency == .normal && push.replaces == nil && push.expiresAt == Self.now + .seconds(3600))
    }

    @Test func headersAreReadInAnyCase() throws {
        let push = try push(
            #"{"data":{"a":"1"},"webpush":{"headers":{"urgency":"high","TOPIC":"score"}}}"#)
        #expect(push.urgency == .high)
        #expect(push.collapseID == "score")
        let topic = try #require(push.replaces)
        #expect(topic.utf8.count == 32 && Base64URL.bytes(topic)?.count == 24)
    }

    /// `TTL` counts from the accept, and keeps nothing longer than the message lives.
    @Test func theTimeToLiveForBrowsersIsTheirs() throws {
        func end(_ seconds: String) throws -> Timestamp {
            try push(#"{"data":{"a":"1"},"webpush":{"headers":{"TTL":"\#(seconds)"}}}"#).expiresAt
        }
        #expect(try end("60") == Self.now + .seconds(60))
        #expect(try end("0") == Self.now)
        #expect(try end("7200") == Self.now + .seconds(3600))
    }

    @Test func repeatsReplaceTheFirstOnTheDeviceAndAtTheService() throws {
        let push = try push(#"{"notification":{"title":"Hello"}}"#, collapsesRepeats: true)
        #expect(text(push).contains(#""tag":"m-1""#))
        #expect(push.replaces?.utf8.count == 32)
        // The sender's own tag stays.
        let own = try self.push(
            #"{"webpush":{"notification":{"title":"Hello","tag":"mine"}}}"#, collapsesRepeats: true)
        #expect(text(own).contains(#""tag":"mine""#) && !text(own).contains("m-1\",\"tag"))
    }

    @Test func aBodyThatIsTooLongNamesBothSizes() throws {
        let long = String(repeating: "x", count: 4000)
        #expect {
            try push(#"{"webpush":{"notification":{"title":"Hello","body":"\#(long)"}}}"#)
        } throws: { error in
            guard let violation = (error as? InvalidMessage)?.violations.first else { return false }
            return violation.field == "message.webpush.notification" && violation.description.contains("3993")
                && violation.cause == .payloadTooLarge
        }
    }
}
