import APNS
import FCMWire
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// How long a message lives on each platform: as at FCM no block says anything to another platform.
struct PlatformLifeTests {
    private static let day: Duration = .seconds(86_400)

    /// A message, and its life on Apple's devices, on Android and in browsers; `nil`: now or never.
    private static let table: [(message: String, apple: Duration?, android: Duration?, web: Duration?)] = [
        ("{}", day * 30, day * 28, day * 28),
        (#"{"apns":{"headers":{"apns-expiration":"0"}}}"#, nil, day * 28, day * 28),
        (#"{"android":{"ttl":"60s"}}"#, day * 30, .seconds(60), day * 28),
        (#"{"android_v2":{"ttl":"60.9s"}}"#, day * 30, .seconds(60), day * 28),
        (#"{"android":{"ttl":"0s"},"webpush":{"headers":{"ttl":"90"}}}"#, day * 30, nil, .seconds(90)),
        (#"{"webpush":{"headers":{"TTL":"0"}}}"#, day * 30, day * 28, nil),
    ]

    @Test(arguments: 0..<6) func noBlockLeaksIntoAnotherPlatform(number: Int) throws {
        let (message, apple, android, web) = Self.table[number]
        let content = try Sample.content(message)
        for (platform, life) in [(Platform.apple, apple), (.android, android), (.web, web)] {
            let expected = life.map { TimeToLive.lasting($0) } ?? .once
            #expect(content.timeToLive(acceptedAt: Sample.start, on: platform) == expected, "\(platform): \(message)")
        }
    }

    private static let android = AppID(rawValue: "com.example.android")!
    private static let project = Project(
        id: Sample.projectID, number: 123, apps: [Sample.app(), App(id: android, service: .android(isReached: true))])
    private static let message = #"{"apns":{"headers":{"apns-expiration":"0"}},"android":{"ttl":"3600s"}}"#

    /// Notes until when each app's push lives.
    private final class NotingComposer: PushComposer {
        let ends = Mutex<[AppID: Timestamp]>([:])

        func content(stored bytes: [UInt8]) throws(UnreadableContent) -> any MessageContent {
            try AppleComposer().content(stored: bytes)
        }

        func compose(
            _ content: any MessageContent, in context: PushContext
        ) throws(InvalidMessage) -> any ComposedPush {
            ends.withLock { $0[context.app.id] = context.expiresAt }
            return try AppleComposer().compose(
                content,
                in: PushContext(
                    message: context.message, projectNumber: 123, broadcastTopic: nil, isForMany: true,
                    collapsesRepeats: false, broadcast: nil, app: Sample.app(), expiresAt: context.expiresAt,
                    acceptedAt: context.acceptedAt))
        }
    }

    @Test func aPlanSaysWhatAMessageIsOnEachPlatformWhereThatDiffers() throws {
        func platforms(_ message: String, project: Project = Self.project) throws -> [Platform: PlatformFacts] {
            let submission = try Sample.submission(to: .topic(Sample.topic), project: project, message)
            return SubmissionPlan(
                of: submission, id: MessageID(acceptedAt: Sample.start, random: 1), acceptedAt: Sample.start,
                composer: NotingComposer()
            ).platforms
        }
        func facts(_ seconds: Int64, until end: Duration) -> PlatformFacts {
            PlatformFacts(
                collapseKey: nil, priority: 10, timeToLiveSeconds: seconds, expiresAt: Sample.start + end)
        }
        let differing =
            #"{"notification":{"title":"Hi"},"apns":{"headers":{"apns-expiration":"0"}},"android":{"ttl":"3600s"}}"#
        #expect(
            try platforms(differing) == [
                .apple: facts(0, until: .seconds(30)), .android: facts(3600, until: .seconds(3600)),
            ])
        let same =
            #"{"notification":{"title":"Hi"},"apns":{"headers":{"apns-expiration":"\#(Sample.start.seconds + 60)"}},"#
            + #""android":{"ttl":"60s"}}"#
        #expect(try platforms(same).isEmpty)
        // One platform alone has nothing to differ from.
        let apple = Project(id: Sample.projectID, number: 123, apps: [Sample.app()])
        #expect(try platforms(differing, project: apple).isEmpty)
    }

    @Test func aMessageLivesAsLongAsOnThePlatformWhereThatIsLongest() throws {
        let composer = NotingComposer()
        let submission = try Sample.submission(to: .topic(Sample.topic), project: Self.project, Self.message)
        let id = MessageID(acceptedAt: Sample.start, random: 1)
        let plan = SubmissionPlan(of: submission, id: id, acceptedAt: Sample.start, composer: composer)
        #expect(plan.violations.isEmpty, "\(plan.violations)")
        #expect(plan.life.expiresAt == Sample.start + .seconds(3600) && plan.life.timeToLiveSeconds == 3600)
        #expect(
            composer.ends.withLock { $0 } == [
                Sample.appID: Sample.start + .seconds(30), Self.android: Sample.start + .seconds(3600),
            ])
    }

    /// A page that is claimed after a minute: Apple's part is over, Android's is sent.
    @Test func aDeliveryEndsWithItsPlatform() throws {
        let content = try Sample.content(Self.message)
        let message = Message(
            id: MessageID(acceptedAt: Sample.start, random: 1), project: Sample.projectID,
            recipient: .topic(Sample.topic), audience: 2, body: .decoded(content), options: DeliveryOptions(),
            lane: .bulk, acceptedAt: Sample.start, expiresAt: Sample.start + .seconds(3600))
        var device = Sample.registration(2, app: Self.android)
        device.address = .android(try #require(AndroidToken(rawValue: "device-0001:APA91bExample")))
        let claims = [Sample.registration(1), device].map { registration in
            ClaimedDelivery(
                message: message.id, project: Sample.projectID, acceptedAt: message.acceptedAt,
                expiresAt: message.expiresAt, registration: DeliveryRegistration(registration), page: nil,
                history: AttemptHistory())
        }
        let push = try AppleComposer().compose(
            content,
            in: PushContext(
                message: message.id, projectNumber: 123, broadcastTopic: nil, isForMany: true, collapsesRepeats: false,
                broadcast: nil, app: Sample.app(), expiresAt: message.expiresAt, acceptedAt: message.acceptedAt))
        var builder = PushBatchBuilder(
            claims, lane: .bulk, now: Sample.start + .seconds(60), random: { 0.5 })
        builder.open(message, content)
        for place in claims.indices { builder.add(place) { (Self.project.apps[$0], push) } }
        #expect(builder.batches.map(\.route.channel) == [.fcm])
        let decided = try #require(builder.decided.first)
        guard case .ended(let entry) = decided.result else {
            Issue.record("\(decided)")
            return
        }
        #expect(builder.decided.count == 1 && entry.outcome == .expired)
        #expect(decided.delivery.registration.appKey.id == Sample.appID)
        // And its retries end with it, too.
        let sent = try #require(builder.batches.first?.deliveries.delivery(0, lane: .bulk))
        #expect(sent.expiresAt == message.expiresAt && !sent.isOnce)
    }
}
