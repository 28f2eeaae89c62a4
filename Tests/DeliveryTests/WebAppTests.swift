import Delivery
import PushModel
import Store
import TestSupport
import Testing

/// Nothing is sent to web apps yet: what is meant for them ends in the ledger, and says why.
@Suite(.timeLimit(.minutes(5)))
struct WebAppTests {
    private static let web = AppID(rawValue: "www.example.com")!
    private static let project = Project(
        id: Sample.projectID, number: 123, apps: [Sample.app(), App(web: web)])

    @Test func aMessageToABrowserIsRejectedWithoutAnAttempt() async throws {
        try await Rig(project: Self.project).run { rig in
            let browser = Sample.registration(1, app: Self.web)
            await rig.store.add(browser)
            let message = try await rig.acceptMessage(
                Sample.submission(to: .registration(browser), project: Self.project))
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .rejected && entry.reason == "PlatformNotServed")
            #expect(entry.history.attempts == 0 && entry.verdict == nil)
            #expect(rig.sender.pushes.isEmpty)
        }
    }

    @Test func aBroadcastReachesTheDevicesAndTellsOfTheBrowsers() async throws {
        try await Rig(project: Self.project).run { rig in
            for number in 1...6 as ClosedRange<Int64> {
                let app = number % 2 == 0 ? Self.web : Sample.appID
                await rig.store.add(Sample.registration(number, app: app), subscribed: true)
            }
            let message = try await rig.acceptMessage(
                Sample.submission(to: .topic(Sample.topic), project: Self.project))
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 3, .rejected: 3])
            #expect(rig.sender.pushes.allSatisfy { $0.route.app == Sample.appID })
        }
    }

    @Test func aMessageIsMeasuredForTheAppsThatItIsSentTo() async throws {
        let rig = Rig(project: Self.project)
        let preflight = try await rig.acceptor.preflight(
            Sample.submission(to: .topic(Sample.topic), project: Self.project))
        #expect(Set(preflight.payloadBytes.keys) == [Sample.appID])
        #expect(preflight.refusals.isEmpty)
    }
}
