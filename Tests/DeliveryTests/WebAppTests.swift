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

    private static func browser(_ number: Int64, app: AppID = web) -> Registration {
        var registration = Sample.registration(number, app: app)
        registration.address = .web(
            WebSubscription(
                endpoint: "https://push.example.com/\(number)", key: Array(repeating: 4, count: 65),
                secret: Array(repeating: 7, count: 16), applicationKey: nil)!)
        return registration
    }

    /// One id is an app of two platforms: what is composed for the one is nothing for the other.
    @Test func oneIDOnTwoPlatformsIsTwoApps() async throws {
        let project = Project(
            id: Sample.projectID, number: 123, apps: [Sample.app(), App(id: Sample.appID, service: .web(nil))])
        #expect(project.apps.count == 2 && project.apps(Sample.appID).map(\.platform) == [.apple, .web])
        try await Rig(project: project).run { rig in
            for number in 1...4 as ClosedRange<Int64> {
                let isBrowser = number % 2 == 0
                let registration = isBrowser ? Self.browser(number, app: Sample.appID) : Sample.registration(number)
                try await rig.store.add(registration, subscribed: true)
            }
            let message = try await rig.acceptMessage(Sample.submission(to: .topic(Sample.topic), project: project))
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 2, .rejected: 2])
            #expect(rig.sender.pushes.allSatisfy { $0.route.channel == .apns(.production) })
        }
    }

    @Test func aMessageToABrowserIsRejectedWithoutAnAttempt() async throws {
        try await Rig(project: Self.project).run { rig in
            let browser = Self.browser(1)
            try await rig.store.add(browser)
            let message = try await rig.acceptMessage(
                Sample.submission(to: .registration(browser), project: Self.project))
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .rejected && entry.reason == "PlatformNotServed")
            #expect(entry.history.attempts == 0)
            #expect(rig.sender.pushes.isEmpty)
        }
    }

    @Test func aBroadcastReachesTheDevicesAndTellsOfTheBrowsers() async throws {
        try await Rig(project: Self.project).run { rig in
            for number in 1...6 as ClosedRange<Int64> {
                let registration = number % 2 == 0 ? Self.browser(number) : Sample.registration(number)
                try await rig.store.add(registration, subscribed: true)
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
        #expect(Set(preflight.payloadBytes.keys) == [AppKey(.apple, Sample.appID)])
        #expect(preflight.refusals.isEmpty)
    }
}
