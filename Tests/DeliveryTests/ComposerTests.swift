import APNS
import FCMWire
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// Counts what it reads and composes.
final class CountingComposer: PushComposer {
    private let composer = AppleComposer()
    private let count = Atomic(0)
    private let readCount = Atomic(0)

    var composed: Int { count.load(ordering: .acquiring) }
    /// How many messages were read from the store's bytes.
    var read: Int { readCount.load(ordering: .acquiring) }

    func content(stored bytes: [UInt8]) throws(UnreadableContent) -> any MessageContent {
        readCount.add(1, ordering: .acquiringAndReleasing)
        return try composer.content(stored: bytes)
    }

    func compose(
        _ content: any MessageContent, in context: PushContext
    ) throws(InvalidMessage) -> any ComposedPush {
        count.add(1, ordering: .acquiringAndReleasing)
        return try composer.compose(content, in: context)
    }
}

struct ComposerTests {
    @Test(.timeLimit(.minutes(5)))
    func whatAcceptComposedIsWhatTheFirstPageSends() async throws {
        let composer = CountingComposer()
        let rig = Rig(composer: composer)
        try await rig.subscribe(1500)
        try await rig.run { rig in
            await rig.untilIdle()
            let message = try await rig.acceptTopic()
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(composer.composed == 1 && composer.read == 0)
    }

    /// Once for each app, whatever the channels and pages of its registrations; nothing for a platform without service.
    @Test(.timeLimit(.minutes(5)))
    func aMessageIsComposedOnceForEachApp() async throws {
        let other = AppID(rawValue: "com.example.other")!
        let apps = [Sample.app(), Sample.app(other), App(id: other, service: .web(nil))]
        let project = Project(id: Sample.projectID, number: 123, apps: apps)
        let composer = CountingComposer()
        let rig = Rig(project: project, composer: composer)
        let registrations = (1...1500 as ClosedRange<Int64>).map { number in
            var registration = Sample.registration(number, app: number % 2 == 0 ? other : Sample.appID)
            if number % 3 == 0 { registration.environment = .sandbox }
            return registration
        }
        try await rig.store.add(registrations, subscribed: true)
        try await rig.run { rig in
            await rig.untilIdle()
            let message = try await rig.acceptMessage(Sample.submission(to: .topic(Sample.topic), project: project))
            await rig.store.until { $0.books[message.id]?.isComplete == true }
        }
        #expect(composer.composed == 2 && composer.read == 0)
    }

    @Test func damagedContentIsUnreadable() throws {
        let content = try Sample.content(#"{"data":{"k":"v"}}"#)
        let read = try AppleComposer().content(stored: content.bytes)
        #expect(read.bytes == content.bytes)
        #expect(throws: UnreadableContent.self) { try AppleComposer().content(stored: Array("{".utf8)) }
    }

    @Test func acceptedMessagesDisplaceNoneThatIsBeingWorkedOn() throws {
        let content = try Sample.content()
        func message(_ number: Int) -> Message {
            Message(
                id: MessageID(rawValue: "m\(number)")!, project: Sample.projectID,
                recipient: .topic(Sample.topic), audience: 1, body: .decoded(content), options: DeliveryOptions(),
                lane: .bulk, acceptedAt: Sample.start, expiresAt: Sample.start)
        }
        let cache = MessageCache(limit: 2)
        for number in 1...2 { _ = cache.insert(message(number), content) }
        for number in 3...6 { cache.insertAccepted(message(number), content, [:]) }
        #expect(cache.entry(message(1).id) != nil && cache.entry(message(2).id) != nil)
        #expect(cache.entry(message(3).id) == nil && cache.entry(message(6).id) != nil)
        #expect(cache.entry(message(1).id) == nil, "the one that was used longest ago went")
    }
}
