import Foundation
import Testing

@testable import HeraldMessaging

/// What waits for the gateway.
struct QueueTests {
    @Test("topic changes go in their order, and what is asked twice goes once")
    func order() {
        var install = Install.registered()
        for (topic, isSubscription) in [("a", true), ("a", true), ("b", true), ("a", false), ("a", false), ("a", true)]
        {
            install.state.change(topic: topic, isSubscription: isSubscription)
        }
        var names: [String] = []
        while let request = install.answer(.done) { names.append(request.name) }
        #expect(names == ["subscribe a", "subscribe b", "unsubscribe a", "subscribe a"])
    }

    @Test("after a day without a network all of it goes, in the order in which it was asked for")
    func day() {
        var install = Install.registered()
        var attempts = 0
        install.state.change(topic: "weather", isSubscription: true)
        let morning = install.now
        while install.now < morning.addingTimeInterval(86_400) {
            if let pause = install.pause() { install.pass(pause) }
            #expect(install.answer(.offline)?.name == "subscribe weather")
            attempts += 1
            if attempts == 5 {
                install.state.add(MessagingReceipt(message: "m", kind: .received, time: install.now))
            }
        }
        // 1022 seconds for the first nine, then four an hour.
        #expect((95...110).contains(attempts))
        var next = install.relaunched()
        #expect(next.answer(.done)?.name == "subscribe weather")
        #expect(next.answer(.done)?.name == "report 1")
        #expect(next.request() == nil)
    }

    @Test("a topic change over the limit is refused, and those before it stay")
    func topicLimit() {
        var install = Install()
        for number in 0...MessagingRecord.topicLimit { install.state.change(topic: "t\(number)", isSubscription: true) }
        #expect(install.state.record.topics.count == MessagingRecord.topicLimit)
        _ = install.request()
        guard case .topicSettled(let change, let error)? = install.told().last else {
            Issue.record("not refused")
            return
        }
        #expect(change.topic == "t1000" && error?.code == .invalidRequest)
    }

    @Test("of receipts over the limit the oldest go, and are counted; a hundred go at once")
    func receiptLimit() {
        var install = Install.registered()
        for number in 0..<MessagingRecord.receiptLimit + 3 {
            install.state.add(MessagingReceipt(message: "m\(number)", kind: .received, time: install.now))
            install.state.add(MessagingReceipt(message: "m\(number)", kind: .received, time: install.now))
        }
        #expect(install.state.record.receipts.count == MessagingRecord.receiptLimit)
        #expect(install.state.record.droppedReceipts == 3)
        #expect(install.state.record.receipts.first?.message == "m3")
        #expect(install.answer(.done)?.name == "report 100")
        #expect(install.state.record.receipts.first?.message == "m103")
    }

    @Test("an app that wants no receipts sends none, and keeps none")
    func withoutReceipts() {
        var install = Install.registered()
        install.state.add(MessagingReceipt(message: "m", kind: .received, time: install.now))
        install.state.setReceiptReporting(false)
        install.state.add(MessagingReceipt(message: "n", kind: .received, time: install.now))
        #expect(install.request() == nil)
        #expect(install.relaunched().state.isReceiptReportingEnabled == false)
    }

    @Test(
        "topics that are refused for good are dropped, with the gateway's word",
        arguments: [
            (400, nil), (429, "TOO_MANY_TOPICS"), (403, "TOPIC_NOT_ALLOWED"),
        ] as [(Int, String?)])
    func refusedTopic(status: Int, reason: String?) {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.answer(.refused(status, reason))
        #expect(install.request() == nil)
        guard case .topicSettled(_, let error)? = install.told().last else {
            Issue.record("not settled")
            return
        }
        #expect(error?.reason == reason)
    }

    @Test("a hundred messages are remembered")
    func seen() {
        var install = Install()
        var found: [Bool] = []
        let others = (0..<MessagingRecord.seenLimit).map { "m\($0)" }
        for message in ["m", "m"] + others + ["m"] { found.append(install.state.see(message)) }
        #expect(found == [true, false] + others.map { _ in true } + [true])
    }

    @Test(
        "names of topics",
        arguments: [
            ("weather", "weather"), ("/topics/weather", "weather"), ("a-B_9.~%", "a-B_9.~%"), ("", nil), ("a b", nil),
            ("/topics/", nil), ("a/b", nil), ("wetter-ö", nil), (String(repeating: "x", count: 901), nil),
        ] as [(String, String?)])
    func names(text: String, name: String?) { #expect(TopicChange.name(of: text) == name) }
}
