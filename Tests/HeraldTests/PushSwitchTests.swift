import PushModel
import Synchronization
import TestSupport
import Testing

@testable import herald

/// One sender for each platform behind the switch.
@Suite(.timeLimit(.minutes(5)))
struct PushSwitchTests {
    private static let project = ProjectID(rawValue: "demo")!
    private static let app = AppID(rawValue: "com.example.app")!

    /// Accepts everything, or keeps it.
    private final class Sender: PushSender {
        let taken = Mutex<[[Push]]>([])
        let isShutDown = Mutex(false)
        let isWindingDown = Mutex(false)
        let held: [PushRoute: HeldRoute]
        let changed = Mutex<(@Sendable () -> Void)?>(nil)
        let name: String

        init(_ name: String, held: [PushRoute: HeldRoute] = [:]) {
            self.name = name
            self.held = held
        }

        func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
            taken.withLock { $0.append(batch) }
            // In pieces, the last first.
            for index in batch.indices.reversed() {
                report([
                    PushReport(
                        index: index, outcome: .accepted, latency: .milliseconds(name.count), isBeingProbed: true)
                ])
            }
        }

        func windDown() { isWindingDown.withLock { $0 = true } }
        func shutdown(within limit: Duration) async { isShutDown.withLock { $0 = true } }
        func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) { changed.withLock { $0 = body } }
        var heldRoutes: [PushRoute: HeldRoute] { held }
        var upstreams: [UpstreamStatus] {
            [
                UpstreamStatus(
                    name: name, isReachable: true, lastFailure: nil, connections: 0, streamsInUse: 0, streamLimit: 0,
                    queued: 0, queueLimit: 0)
            ]
        }
    }

    private static func route(_ channel: Channel) -> PushRoute {
        PushRoute(project: project, app: app, channel: channel)
    }

    private func push(_ number: Int64, _ channel: Channel) throws -> Push {
        let made = try makePush(number, composed: PlainPush())
        return Push(
            route: Self.route(channel), lane: made.lane, address: made.address, content: made.content,
            payload: made.payload, id: made.id)
    }

    private func reports(_ batch: [Push], _ sender: PushSwitch) async -> [Int: [PushReport]] {
        let reports = Mutex<[PushReport]>([])
        await sender.send(batch) { pieces in reports.withLock { $0 += pieces } }
        return Dictionary(grouping: reports.withLock { $0 }, by: \.index)
    }

    @Test func eachPushGoesToTheSenderOfItsPlatformAndItsReportKeepsItsPlace() async throws {
        let (apple, web) = (Sender("apple"), Sender("web"))
        let sender = PushSwitch([.apple: apple, .web: web])
        let channels: [Channel] = [.webPush, .apns(.production), .webPush, .apns(.sandbox), .fcm, .webPush]
        let batch = try channels.enumerated().map { try push(Int64($0), $1) }
        let answers = await reports(batch, sender)
        #expect(answers.count == batch.count && answers.values.allSatisfy { $0.count == 1 })
        for (index, channel) in channels.enumerated() {
            let answer = try #require(answers[index]?.first)
            switch channel.platform {
            case .apple, .web:
                #expect(answer.outcome == .accepted && answer.isBeingProbed)
                #expect(answer.latency == .milliseconds(channel.platform.rawValue.count))
            case .android: #expect(answer.outcome == .notSent(.noRoute))
            }
        }
        #expect(apple.taken.withLock { $0.map { $0.map(\.id) } } == [[batch[1].id, batch[3].id]])
        #expect(web.taken.withLock { $0.map { $0.map(\.id) } } == [[batch[0].id, batch[2].id, batch[5].id]])
    }

    @Test func aBatchOfOneRouteIsHandedOnAsItIs() async throws {
        let web = Sender("web")
        let sender = PushSwitch([.web: web])
        let batch = try (1...3).map { try push($0, .webPush) }
        #expect(await reports(batch, sender).keys.sorted() == [0, 1, 2])
        #expect(web.taken.withLock { $0.map(\.count) } == [3])
        #expect(await reports([], sender).isEmpty)
    }

    @Test func holdsAndUpstreamsAreThoseOfAll() async throws {
        let rest = HeldRoute(retryAfter: .seconds(5), limit: 1)
        let apple = Sender("apple", held: [Self.route(.apns(.production)): rest])
        let web = Sender("web", held: [Self.route(.webPush): rest])
        let sender = PushSwitch([.apple: apple, .web: web])
        #expect(Set(sender.heldRoutes.keys) == [Self.route(.apns(.production)), Self.route(.webPush)])
        #expect(sender.upstreams.map(\.name) == ["apple", "web"])
        let calls = Mutex(0)
        sender.onHeldRoutesChange { calls.withLock { $0 += 1 } }
        for one in [apple, web] { one.changed.withLock { $0 }?() }
        #expect(calls.withLock { $0 } == 2)
        sender.windDown()
        await sender.shutdown(within: .zero)
        for one in [apple, web] {
            #expect(one.isWindingDown.withLock { $0 } && one.isShutDown.withLock { $0 })
        }
    }
}
