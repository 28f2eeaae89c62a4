import APNS
import Delivery
import PushModel
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AcceptorTests {
    private func violation(_ body: () async throws -> Void) async throws -> String {
        do {
            try await body()
        } catch SubmissionRefusal.invalid(let message) {
            return message.violations.map(\.description).joined()
        }
        return "accepted"
    }

    @Test func anAcceptedMessageIsInTheStore() async throws {
        let rig = Rig()
        let message = try await rig.accept(to: 1)
        let book = try #require(await rig.store.books[message.id])
        #expect(book.message?.acceptedAt == Sample.start)
        #expect(book.message?.expiresAt == Sample.start + .seconds(30 * 24 * 3600))
        let facts = try #require(book.facts)
        #expect(facts.isDisplayed)
        #expect(facts.priority == 10)
        #expect(facts.timeToLiveSeconds == 30 * 24 * 3600)
    }

    @Test func validateOnlyKeepsNothing() async throws {
        let rig = Rig()
        _ = try await rig.acceptor.preflight(Sample.submission(to: .topic(Sample.topic)))
        #expect(await rig.store.books.isEmpty)
    }

    @Test func aTimeToLiveOfZeroLeavesThirtySecondsToReachAPNs() async throws {
        let rig = Rig()
        let message = try await rig.accept(
            to: 1, #"{"notification":{"title":"Now"},"apns":{"headers":{"apns-expiration":"0"}}}"#)
        #expect(message.expiresAt == Sample.start + .seconds(30))
        #expect(await rig.store.books[message.id]?.facts?.timeToLiveSeconds == 0)
    }

    @Test func anExplicitExpirationIsTheMessages() async throws {
        let rig = Rig()
        let message = try await rig.accept(
            to: 1, #"{"notification":{"title":"Soon"},"apns":{"headers":{"apns-expiration":"1800000600"}}}"#)
        #expect(message.expiresAt == Timestamp(seconds: 1_800_000_600))
        #expect(await rig.store.books[message.id]?.facts?.timeToLiveSeconds == 600)
    }

    @Test func aProjectWithoutAppsIsNamed() async throws {
        let bare = Project(id: Sample.projectID, number: 1, apps: [])
        let rig = Rig(project: bare)
        let text = try await violation {
            _ = try await rig.acceptor.accept(Sample.submission(to: .topic(Sample.topic), project: bare))
        }
        #expect(text.contains("demo"))
    }

    @Test func aRegistrationOfAnAppThatIsGoneIsNamed() async throws {
        let rig = Rig()
        let registration = Sample.registration(1, app: AppID(rawValue: "com.example.gone")!)
        let text = try await violation {
            _ = try await rig.acceptor.accept(Sample.submission(to: .registration(registration)))
        }
        #expect(text.contains("com.example.gone"))
    }

    @Test func aSendersApnsIDIsForOnePushOnly() async throws {
        let json =
            #"{"notification":{"title":"A"},"apns":{"headers":{"apns-id":"6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f"}}}"#
        let rig = Rig()
        let text = try await violation { _ = try await rig.acceptTopic(json) }
        #expect(text.contains("apns-id"))
        _ = try await rig.accept(to: 1, json)
    }

    @Test func aBodyOverTheLimitIsRefusedForEveryApp() async throws {
        // 60 bytes below the limit with no keys of the gateway's own, above it with them.
        let plain = Sample.app(AppID(rawValue: "com.example.plain")!, keys: .none)
        let project = Project(id: Sample.projectID, number: 1, apps: [plain, Sample.app()])
        let bare = Project(id: Sample.projectID, number: 1, apps: [plain])
        let json = #"{"data":{"k":""# + String(repeating: "x", count: 4000) + #""}}"#
        let rig = Rig(project: project)
        _ = try await rig.acceptor.accept(Sample.submission(to: .topic(Sample.topic), project: bare, json))
        let text = try await violation {
            _ = try await rig.acceptor.accept(Sample.submission(to: .topic(Sample.topic), project: project, json))
        }
        #expect(text.contains("4096"))
    }

    @Test func aStoppedAcceptorRefuses() async throws {
        let rig = Rig()
        rig.acceptor.stop()
        await #expect { _ = try await rig.accept(to: 1) } throws: { error in
            guard case SubmissionRefusal.stopping = error else { return false }
            return true
        }
        #expect(await rig.store.books.isEmpty)
    }

    @Test func beyondTheLimitMessagesAreRefusedUntilOthersAreComplete() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 2
        let rig = Rig(limits: limits, script: { _, _ in nil })
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            _ = try await rig.accept(to: 2)
            await #expect { _ = try await rig.accept(to: 3) } throws: { error in
                guard case SubmissionRefusal.full(.messages, let retryAfter) = error else { return false }
                return retryAfter > .zero
            }
            #expect(await rig.store.books.count == 2)
            await rig.sender.untilSent(2)
            rig.sender.release(.accepted)
            await rig.store.untilEnded(2)
            rig.clock.advance(by: .seconds(1))
            _ = try await rig.accept(to: 3)
            await rig.sender.untilSent(3)
            rig.sender.release(.accepted)
        }
    }

    @Test func theLimitCountsWhatAnEarlierRunLeft() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 1
        let rig = Rig(limits: limits)
        _ = try await rig.accept(to: 1)
        let other = MessageAcceptor(
            store: rig.store, composer: AppleComposer(), admission: Admission(in: rig.store, limits: limits),
            runner: nil,
            wallTime: { Sample.start })
        await #expect(throws: SubmissionRefusal.self) {
            _ = try await other.accept(Sample.submission(to: .registration(Sample.registration(1))))
        }
    }
}
