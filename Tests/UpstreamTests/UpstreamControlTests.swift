import PushModel
import TestSupport
import Testing

@testable import Upstream

/// Answers in, decisions out: no I/O, no clock.
struct UpstreamControlTests {
    private static let wall = Timestamp(seconds: 1_700_000_000)
    private static let token = AuthorizationToken(authorization: "bearer a", issuedAt: wall, series: 0)

    /// A control with its time.
    private struct Play {
        var control = UpstreamControl(service: TestService())
        var now = Duration.zero
        var token = UpstreamControlTests.token
        var skew = ClockSkew()

        /// Asks for all of `batch`.
        mutating func admit(_ batch: [Push]) -> UpstreamControl.Selection {
            control.admit(batch.indices, of: batch, with: token, at: now)
        }

        /// Sends all of `batch`, and answers what went with `meaning`.
        mutating func send(
            _ batch: [Push], _ meaning: AnswerMeaning, age: Duration = .seconds(60)
        ) -> (went: Int, actions: [ControlAction]) {
            let selection = admit(batch)
            let actions = answer(batch, selection, meaning, age: age)
            return (selection.admitted.count, selection.actions + actions)
        }

        mutating func answer(
            _ batch: [Push], _ selection: UpstreamControl.Selection, _ meaning: AnswerMeaning,
            age: Duration = .seconds(60)
        ) -> [ControlAction] {
            control.note(
                selection.admitted.map { UpstreamControl.Answered(index: $0, meaning: meaning) }, of: batch,
                UpstreamControl.Dispatch(generation: selection.generation, tokenAge: age), skew: skew, at: now,
                wallTime: UpstreamControlTests.wall + now)
        }

        var pauses: [UpstreamPause] { control.pauses(at: now, wallTime: UpstreamControlTests.wall + now) }
    }

    private func told(_ actions: [ControlAction]) -> [UpstreamPause.Part] {
        actions.compactMap { if case .tellPause(let part, _, _) = $0 { part } else { nil } }
    }

    @Test func `What works is let through, and nothing is done`() throws {
        var play = Play()
        for meaning in [
            AnswerMeaning.accepted, .pushRefused, .addressDoubtful(.badDeviceToken), .overloaded(after: nil), .nothing,
        ] {
            let (went, actions) = play.send([try makePush(1), try makePush(2)], meaning)
            #expect(went == 2 && actions == [])
        }
    }

    @Test func `A refused credential pauses everything at once, and is told once`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2), try makePush(3)]
        let first = play.send(batch, .credentialRefused(.badCertificate))
        #expect(told(first.actions) == [.everything] && first.actions.count == 1)
        let selection = play.admit(batch)
        #expect(selection.admitted == [])
        #expect(selection.held.map(\.index) == [0, 1, 2])
        #expect(selection.held.allSatisfy { $0.refusal == .badCertificate && $0.after == .seconds(30) })
        let pause = try #require(play.pauses.first)
        #expect(pause.part == .everything && pause.since == Self.wall && pause.nextProbe == Self.wall + .seconds(30))
    }

    @Test func `One push at a time probes on new connections, and the first good answer ends the pause`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2), try makePush(3)]
        _ = play.send(batch, .credentialRefused(.forbidden))
        play.now = .seconds(30)
        #expect(!play.control.isProbing(for: batch[1]))
        var other = play
        let others = other.admit(batch).held
        #expect(others.map(\.isBeingProbed) == [true, true])
        let probe = play.send(batch, .credentialRefused(.forbidden))
        #expect(probe.went == 1 && probe.actions == [.replaceConnections])
        play.now = .seconds(89)
        #expect(play.admit(batch).admitted == [])
        play.now = .seconds(90)
        let second = play.send(batch, .pushRefused)
        #expect(second.went == 1)
        #expect(
            second.actions == [
                .replaceConnections, .restartSlowly(after: .forbidden), .tellEnd(.everything, .forbidden),
            ])
        #expect(play.send(batch, .accepted).went == 3)
        #expect(play.pauses == [])
    }

    @Test(arguments: [
        AnswerMeaning.connectionRefused(.invalidProviderToken), .connectionRefused(.unrelatedKeyIDInToken),
        .tokenExpired(.expiredProviderToken),
    ])
    func `What another connection may cure gets one, and then a pause`(meaning: AnswerMeaning) throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2)]
        let old = play.admit(batch)
        let first = play.send(batch, meaning).actions
        #expect(first.count == 2 && first.last == .replaceConnections)
        guard case .restartSlowly? = first.first else {
            Issue.record("not slowly: \(first)")
            return
        }
        #expect(play.answer(batch, old, meaning) == [])
        let second = play.send(batch, meaning)
        #expect(second.went == 2 && told(second.actions) == [.everything])
    }

    @Test func `A good answer on the new connections ends the trial`() throws {
        var play = Play()
        let batch = [try makePush(1)]
        _ = play.send(batch, .connectionRefused(.invalidProviderToken))
        #expect(play.send(batch, .accepted).actions == [])
        play.now = .seconds(15)
        #expect(play.send(batch, .connectionRefused(.invalidProviderToken)).actions.contains(.replaceConnections))
        // Connections are not replaced again so soon: what is refused now is refused for good.
        _ = play.send(batch, .accepted)
        play.now = .seconds(29)
        #expect(told(play.send(batch, .connectionRefused(.invalidProviderToken)).actions) == [.everything])
    }

    @Test func `A fresh token called expired by a clock that differs pauses at once`() throws {
        var play = Play()
        _ = play.skew.sample(date: Self.wall + .seconds(7200), received: Self.wall, at: .zero)
        let (_, actions) = play.send([try makePush(1)], .tokenExpired(.expiredProviderToken))
        guard case .tellPause(.everything, .expiredProviderToken, let detail)? = actions.first else {
            Issue.record("no pause: \(actions)")
            return
        }
        #expect(detail.contains("60 s old") && detail.contains("-7200 s"))
        #expect(actions.count == 1)
    }

    @Test func `An old token called expired is no matter of the clock`() throws {
        var play = Play()
        _ = play.skew.sample(date: Self.wall + .seconds(7200), received: Self.wall, at: .zero)
        let (_, actions) = play.send([try makePush(1)], .tokenExpired(.expiredProviderToken), age: .seconds(3000))
        #expect(actions == [.restartSlowly(after: .expiredProviderToken), .replaceConnections])
    }

    @Test func `A new token is tried at once while the credential is refused`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2)]
        _ = play.send(batch, .credentialRefused(.forbidden))
        #expect(play.admit(batch).admitted == [])
        play.token = AuthorizationToken(
            authorization: "bearer b", issuedAt: Self.wall + .seconds(5), series: 0, number: 1)
        #expect(play.admit(batch).admitted == [0])
    }

    @Test func `A token of the next series counts as new connections, once`() throws {
        var play = Play()
        let batch = [try makePush(1)]
        let generation = play.admit(batch).generation
        play.token = AuthorizationToken(
            authorization: "bearer b", issuedAt: Self.wall + .seconds(5), series: 1, number: 1)
        #expect(play.admit(batch).generation == generation + 1)
        // A batch that had the old token comes late.
        play.token = AuthorizationToken(authorization: "bearer a", issuedAt: Self.wall, series: 0, number: 0)
        #expect(play.admit(batch).generation == generation + 1)
    }

    @Test func `A refused topic pauses that topic alone, with one look at new connections`() throws {
        var play = Play()
        let voice = PlainPush(topic: "com.example.app.voip")
        let batch = [try makePush(1), try makePush(2, content: voice)]
        let selection = play.admit(batch)
        let actions = play.control.note(
            [.init(index: 0, meaning: .accepted), .init(index: 1, meaning: .topicRefused(.topicDisallowed))],
            of: batch, .init(generation: selection.generation, tokenAge: .zero), skew: play.skew, at: play.now,
            wallTime: Self.wall)
        #expect(told(actions) == [.topic("com.example.app.voip")])
        #expect(play.admit(batch).admitted == [0])
        play.now = .seconds(30)
        let probe = play.admit(batch)
        #expect(probe.admitted == [0, 1] && probe.actions == [.replaceConnections])
        _ = play.answer(batch, probe, .topicRefused(.topicDisallowed))
        play.now = .seconds(120)
        let second = play.admit([batch[1]])
        #expect(second.admitted == [0] && second.actions == [])
        #expect(
            play.answer([batch[1]], second, .accepted)
                == [.tellEnd(.topic("com.example.app.voip"), .topicDisallowed)])
    }

    @Test func `After a change by the operator everything that is held back is tried at once`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2)]
        _ = play.send(batch, .topicRefused(.topicDisallowed))
        _ = play.send(
            [try makePush(3, content: PlainPush(topic: "com.example.app.voip"))], .credentialRefused(.forbidden))
        #expect(play.admit(batch).admitted == [])
        #expect(play.control.renew(at: play.now) == [.replaceConnections])
        let (went, actions) = play.send(batch, .accepted)
        #expect(went == 1 && actions.contains(.tellEnd(.everything, .forbidden)))
        #expect(actions.contains(.tellEnd(.topic("com.example.app"), .topicDisallowed)))
        #expect(!actions.contains(.replaceConnections))
        #expect(play.send(batch, .accepted).went == 2)
    }

    @Test func `Two pauses that are due in one batch each have their probe`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2, content: PlainPush(topic: "com.example.app.voip"))]
        _ = play.send(batch, .topicRefused(.topicDisallowed))
        #expect(play.pauses.count == 2)
        play.now = .seconds(30)
        #expect(play.send(batch, .accepted).went == 2)
        #expect(play.pauses == [])
    }

    @Test func `A share of BadDeviceToken pauses the app in its environment, and says so plainly`() throws {
        var play = Play()
        let bad = try (0..<90).map { try makePush($0) }
        let other = [try makePush(1, app: "com.example.other")]
        #expect(play.send(try (0..<20).map { try makePush($0 + 100) }, .accepted).actions == [])
        let (_, actions) = play.send(bad, .addressDoubtful(.badDeviceToken))
        guard case .tellPause(.route(let route), .badDeviceToken, let detail)? = actions.first else {
            Issue.record("no pause: \(actions)")
            return
        }
        #expect(route == bad[0].route && actions.count == 1)
        #expect(
            detail == "of the last 110 pushes for com.example.app to production 90 were refused as BadDeviceToken; "
                + "the registrations' environment is probably wrong; nothing was deleted")
        #expect(play.send(other, .accepted).went == 1)
        #expect(play.admit(bad).held.count == 90)
        play.now = .seconds(30)
        #expect(play.send(bad, .addressDoubtful(.badDeviceToken)).went == 1)
        play.now = .seconds(90)
        let (went, end) = play.send(bad, .accepted)
        #expect(went == 1 && end == [.tellEnd(.route(route), .badDeviceToken)])
        #expect(play.send(bad, .accepted).went == 90)
    }

    @Test func `Suspects that are refused pause the suspects, and no proven device token waits`() throws {
        var play = Play()
        let proven = [try makePush(1)]
        let suspects = try (0..<450).map { try makePush($0 + 100, isProven: false) }
        #expect(play.send(proven, .accepted).actions == [])
        let (_, actions) = play.send(suspects, .addressDoubtful(.badDeviceToken))
        #expect(told(actions) == [.suspects(proven[0].route)])
        #expect(play.control.hold.rest(of: proven[0].route) == nil, "claims go on")
        #expect(play.send(proven + suspects, .accepted).went == 1)
        #expect(play.admit(suspects).held.allSatisfy { $0.refusal == .badDeviceToken && $0.after == .seconds(30) })
        play.now = .seconds(30)
        let (went, end) = play.send(suspects, .accepted)
        #expect(went == 1 && end == [.tellEnd(.suspects(proven[0].route), .badDeviceToken)])
        #expect(play.send(suspects, .accepted).went == 450)
    }

    @Test func `Refused suspects do not count against the proven`() throws {
        var play = Play()
        let suspects = try (0..<99).map { try makePush($0 + 100, isProven: false) }
        _ = play.send(suspects, .addressDoubtful(.badDeviceToken))
        #expect(told(play.send([try makePush(1), try makePush(2)], .addressDoubtful(.badDeviceToken)).actions) == [])
        #expect(play.pauses == [])
    }

    @Test func `Where nothing is proven yet, a pause of the suspects holds the route until something is`() throws {
        var play = Play()
        let suspects = try (0..<100).map { try makePush($0 + 100, isProven: false) }
        let route = suspects[0].route
        #expect(told(play.send(suspects, .addressDoubtful(.badDeviceToken)).actions) == [.suspects(route)])
        #expect(play.control.hold.rest(of: route)?.limit == 1)
        #expect(play.send([try makePush(1)], .accepted).went == 1)
        #expect(play.control.hold.rest(of: route) == nil)
    }

    @Test func `A busy device is held back alone`() throws {
        var play = Play()
        let batch = [try makePush(1), try makePush(2)]
        let selection = play.admit(batch)
        _ = play.control.note(
            [.init(index: 0, meaning: .addressBusy(after: nil)), .init(index: 1, meaning: .accepted)], of: batch,
            .init(generation: selection.generation, tokenAge: .zero), skew: play.skew, at: play.now,
            wallTime: Self.wall)
        let second = play.admit(batch)
        #expect(second.admitted == [1])
        #expect(second.held.first?.refusal == .tooManyRequests && second.held.first?.after == .seconds(5))
        play.now = .seconds(5)
        #expect(play.send(batch, .accepted).went == 2)
    }

    @Test(
        arguments: [
            (.accepted, .accepted), (.rejected(.badDeviceToken), .addressDoubtful(.badDeviceToken)),
            (.rejected(.payloadTooLarge), .pushRefused), (.rejected(.unregistered), .pushRefused),
            (.rejected(.new()), .pushRefused), (.rejected(.topicDisallowed), .topicRefused(.topicDisallowed)),
            (.throttled(.invalidProviderToken, after: nil), .connectionRefused(.invalidProviderToken)),
            (.throttled(.expiredProviderToken, after: nil), .tokenExpired(.expiredProviderToken)),
            (.throttled(.forbidden, after: nil), .credentialRefused(.forbidden)),
            (.throttled(.tooManyRequests, after: nil), .addressBusy(after: nil)),
            (
                .throttled(.tooManyProviderTokenUpdates, after: nil),
                .connectionRefused(.tooManyProviderTokenUpdates)
            ),
            (.throttled(.internalServerError, after: nil), .overloaded(after: nil)),
            (.throttled(.serviceUnavailable, after: .seconds(7)), .overloaded(after: .seconds(7))),
            (.throttled(.shutdown, after: nil), .nothing), (.throttled(.idleTimeout, after: nil), .nothing),
            (.notSent(.refused), .nothing), (.unknown(.timedOut), .nothing),
        ] as [(Outcome, AnswerMeaning)])
    func `Every answer has its meaning`(outcome: Outcome, meaning: AnswerMeaning) {
        #expect(AnswerMeaning(outcome) == meaning)
    }

    @Test func `Refusals that meet all of a group pause it alone, and an acceptance hastens the probe`() throws {
        var play = Play()
        let suspects = [try makePush(1, isProven: false), try makePush(2, isProven: false)]
        let proven = [try makePush(3)]
        let before = play.admit(suspects)
        let refusal = Refusal("KeyMismatch", .credential)
        let first = play.send([suspects[0]], .groupRefused(refusal))
        #expect(told(first.actions) == [.suspects(suspects[0].route)])
        #expect(play.admit(suspects).held.map(\.refusal) == [refusal, refusal])
        #expect(play.send(proven, .accepted).went == 1)
        #expect(play.admit(suspects).admitted == [])
        _ = play.answer(suspects, before, .accepted)
        let probe = play.send(suspects, .accepted)
        #expect(probe.went == 1 && probe.actions.contains(.tellEnd(.suspects(suspects[0].route), refusal)))
        #expect(play.send(suspects, .accepted).went == 2)
    }
}

/// A push for the project `demo`, to a device token that begins with `number`.
private func makePush(
    _ number: Int64, app: String = "com.example.app", isProven: Bool = true, content: PlainPush = PlainPush()
) throws -> Push {
    try makePush(number, app: app, isProven: isProven, composed: content)
}
