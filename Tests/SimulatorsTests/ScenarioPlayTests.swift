import Testing

@testable import Simulators

/// Each scenario as a table: events, and the actions that follow.
@Suite("A scenario says what a connection has to do")
struct ScenarioPlayTests {
    private func play(
        _ text: String, seed: UInt64 = 1, connection: Int = 1, streamLimit: Int = 100
    ) throws -> ScenarioPlay {
        ScenarioPlay(
            try Scenario(text: text), seed: seed, generator: SeededGenerator(seed: seed, sequence: connection),
            start: 0, streamLimit: streamLimit)
    }

    /// A push arrives and is judged.
    private func push(
        _ number: Int, into play: inout ScenarioPlay, status: Int = 200, token: String? = nil, at now: Int64 = 0
    ) -> [ScenarioAction] {
        let stream = number * 2 - 1
        let actions = play.handle(.arrived(stream: stream), at: now)
        guard actions.isEmpty else { return actions }
        return play.handle(
            .judged(stream: stream, status: status, deviceToken: token ?? "token \(number)"), at: now)
    }

    private func pushes(
        _ numbers: ClosedRange<Int>, into play: inout ScenarioPlay, status: Int = 200
    ) -> [[ScenarioAction]] {
        numbers.map { push($0, into: &play, status: status) }
    }

    @Test("stream-ramp: 1, then more in steps, up to the limit, never for a refused sender")
    func streamRamp() throws {
        var play = try play("stream-ramp,streamLimit=50,every=2,factor=5")
        #expect(play.firstStreamLimit == 1)
        #expect(pushes(1...3, into: &play, status: 403) == [[], [], []])
        #expect(
            pushes(4...11, into: &play)
                == [[.limitStreams(5)], [], [.limitStreams(25)], [], [.limitStreams(50)], [], [], []])
    }

    @Test("collapse-after-reject: one stream after 4xx, what is under way is refused, the next accepted one restores")
    func collapse() throws {
        var play = try play("collapse-after-reject,share=0")
        #expect(push(1, into: &play) == [])
        #expect(push(2, into: &play, status: 410) == [])
        #expect(push(3, into: &play, status: 400) == [.limitStreams(1)])
        #expect(pushes(4...5, into: &play) == [[.resetStream(code: 7)], [.resetStream(code: 7)]])
        #expect(play.handle(.settingsAcknowledged, at: 0) == [])
        #expect(push(6, into: &play, status: 400) == [])
        #expect(push(7, into: &play) == [.limitStreams(100)])
        #expect(push(8, into: &play) == [])
    }

    @Test("collapse-after-reject: the chosen device tokens are the ones that bad-device-share would choose")
    func collapseChoice() throws {
        var play = try play("collapse-after-reject,share=1")
        #expect(
            push(1, into: &play) == [.answer(ScenarioAnswer(400, "BadDeviceToken")), .limitStreams(1)])
    }

    @Test("goaway-shutdown: 503 Shutdown, then GOAWAY, then the end")
    func shutdown() throws {
        var play = try play("goaway-shutdown,after=3,spread=0,refusals=2,lingerMilliseconds=5")
        let refusal = ScenarioAction.answer(ScenarioAnswer(503, "Shutdown"))
        #expect(
            pushes(1...5, into: &play)
                == [
                    [], [], [refusal],
                    [
                        refusal, .goAway(lastStream: nil, code: 0, debugData: #"{"reason":"Shutdown"}"#),
                        .tick(milliseconds: 5),
                    ], [],
                ])
        #expect(play.handle(.ticked, at: 0) == [.close])
        var silent = try self.play("goaway-shutdown,after=1,spread=0,refusals=0,errorCode=2")
        #expect(push(1, into: &silent).count == 2)
        #expect(push(2, into: &silent) == [])
    }

    @Test("goaway-partial: the younger half of what is held lies beyond the last stream")
    func partial() throws {
        var play = try play("goaway-partial,after=2,spread=0,held=4,waitMilliseconds=9,lingerMilliseconds=5")
        let end: [ScenarioAction] = [
            .goAway(lastStream: 5, code: 0, debugData: #"{"reason":"Shutdown"}"#), .release(upTo: 5),
            .tick(milliseconds: 5),
        ]
        #expect(
            pushes(1...6, into: &play)
                == [[], [.hold, .tick(milliseconds: 9)], [.hold], [.hold], [.hold] + end, []])
        // The time to wait for more is over, then the time to linger.
        #expect(play.handle(.ticked, at: 0) == [])
        #expect(play.handle(.ticked, at: 0) == [.close])
    }

    @Test("goaway-partial: with too few requests it does not wait for ever")
    func partialInTime() throws {
        var play = try play("goaway-partial,after=2,spread=0")
        #expect(pushes(1...2, into: &play) == [[], [.hold, .tick(milliseconds: 200)]])
        #expect(
            play.handle(.ticked, at: 0)
                == [
                    .goAway(lastStream: 1, code: 0, debugData: #"{"reason":"Shutdown"}"#), .release(upTo: 1),
                    .tick(milliseconds: 1000),
                ])
        #expect(play.handle(.ticked, at: 0) == [.close])
    }

    @Test(
        "What befalls a connection once befalls it at its moment",
        arguments: [
            ("drop", [ScenarioAction.drop(isAbrupt: false)]), ("drop,abrupt=1", [.drop(isAbrupt: true)]),
            ("half-open", [.freeze]),
        ])
    func once(text: String, actions: [ScenarioAction]) throws {
        var play = try play(text + (text.contains(",") ? "" : ",share=1") + ",after=3,spread=0")
        #expect(pushes(1...4, into: &play) == [[], [], actions, []])
    }

    @Test(
        "What wedges a connection refuses everything from its moment on",
        arguments: [
            ("expired-wedge", 403, "ExpiredProviderToken"), ("expired-wedge,status=500", 500, "InternalServerError"),
            ("unrelated-key", 403, "UnrelatedKeyIdInToken"),
        ])
    func wedge(text: String, status: Int, reason: String) throws {
        var play = try play(text + ",after=3,spread=0")
        let answer = ScenarioAction.answer(ScenarioAnswer(status, reason))
        #expect(pushes(1...5, into: &play) == [[], [], [answer], [answer], [answer]])
        #expect(push(6, into: &play, status: 410) == [])
    }

    @Test("token-updates: some in a row; and another shortest time between tokens")
    func tokenUpdates() throws {
        var play = try play("token-updates,after=2,spread=0,length=2,intervalSeconds=5")
        let answer = ScenarioAction.answer(ScenarioAnswer(429, "TooManyProviderTokenUpdates"))
        #expect(pushes(1...4, into: &play) == [[], [answer], [answer], []])
        #expect(play.tokenIntervalSeconds == 5)
    }

    @Test("reset: refused before it is looked at, any other code in place of the answer")
    func reset() throws {
        var refused = try play("reset,share=1,errorCode=7")
        #expect(refused.handle(.arrived(stream: 1), at: 0) == [.resetStream(code: 7)])
        var failed = try play("reset,share=1")
        #expect(failed.handle(.arrived(stream: 1), at: 0) == [])
        #expect(
            failed.handle(.judged(stream: 1, status: 200, deviceToken: "a"), at: 0) == [.resetStream(code: 2)])
    }

    @Test("unavailable-burst: by the clock, from the start")
    func burst() throws {
        var play = try play("unavailable-burst,everyMilliseconds=100,durationMilliseconds=10,retryAfterSeconds=4")
        let answer = ScenarioAction.answer(ScenarioAnswer(503, "ServiceUnavailable", retryAfterSeconds: 4))
        let times: [Int64] = [0, 9, 10, 99, 100, 109, 110]
        let actions = times.map { push(1, into: &play, at: $0) }
        #expect(actions == [[answer], [answer], [], [], [answer], [answer], []])
    }

    @Test(
        "Shares hold",
        arguments: [
            "too-many-requests,share=0.25", "bad-device-share,share=0.25", "unregistered-share,share=0.25",
            "reset,share=0.25", "big-headers,share=0.25",
        ])
    func shares(text: String) throws {
        var play = try play(text)
        let hits = pushes(1...4000, into: &play).count { !$0.isEmpty }
        #expect((900...1100).contains(hits), "\(hits)")
    }

    @Test("A device token meets the same fate on every connection, and with another seed another", arguments: [1, 2])
    func tokens(connection: Int) throws {
        func hits(seed: UInt64, connection: Int) throws -> [Int] {
            var play = try play("bad-device-share", seed: seed, connection: connection)
            return (1...500).filter { !push($0, into: &play).isEmpty }
        }
        #expect(try hits(seed: 3, connection: connection) == hits(seed: 3, connection: 9))
        #expect(try hits(seed: 3, connection: connection) != hits(seed: 4, connection: connection))
    }

    @Test("unregistered-share: the timestamp lies back")
    func unregistered() throws {
        var play = try play("unregistered-share,share=1,ageSeconds=60")
        #expect(push(1, into: &play) == [.answer(ScenarioAnswer(410, "Unregistered", ageSeconds: 60))])
        var answer = Answer(status: 200, apnsID: "")
        let action = push(2, into: &play)[0]
        let isAll = answer.follow(action, now: 1_000_000)
        #expect(isAll)
        #expect(answer.timestamp == 940_000)
    }

    @Test("slow: median and 99th percentile are what was asked for, and nothing takes longer than the longest")
    func slow() throws {
        var play = try play("slow,medianMilliseconds=100,p99Milliseconds=1000,longestMilliseconds=1500")
        let delays = pushes(1...20_000, into: &play).map { actions -> Int in
            guard actions.count == 1, case .delay(let milliseconds) = actions[0] else { return -1 }
            return milliseconds
        }.sorted()
        #expect((95...105).contains(delays[10_000]), "\(delays[10_000])")
        #expect((900...1100).contains(delays[19_800]), "\(delays[19_800])")
        #expect(delays[0] >= 0 && delays[19_999] <= 1500)
    }

    @Test("settings-flap: down and up again")
    func flap() throws {
        var play = try play("settings-flap,streamLimit=3,every=2")
        let limits = pushes(1...200, into: &play).flatMap { $0 }.map { action -> Int in
            guard case .limitStreams(let limit) = action else { return -1 }
            return limit
        }
        #expect(limits.count == 100)
        for index in limits.indices {
            #expect(index.isMultiple(of: 2) ? (1...3).contains(limits[index]) : limits[index] == 100)
        }
        #expect(Set(limits) == [1, 2, 3, 100])
    }

    @Test("flow-control-stall: small windows that open by the clock")
    func stall() throws {
        var play = try play("flow-control-stall,windowBytes=10,stepBytes=7,everyMilliseconds=3")
        #expect(play.windowBytes == 10)
        #expect(play.handle(.opened, at: 0) == [.tick(milliseconds: 3)])
        #expect(play.handle(.ticked, at: 0) == [.openWindows(bytes: 7), .tick(milliseconds: 3)])
        #expect(push(1, into: &play) == [])
    }

    @Test("The same seed does the same, another one something else", arguments: Scenario.Name.allCases)
    func repeatable(name: Scenario.Name) throws {
        func run(seed: UInt64) throws -> [[ScenarioAction]] {
            var play = try play(name.rawValue, seed: seed)
            return pushes(1...1000, into: &play)
        }
        #expect(try run(seed: 5) == run(seed: 5))
        let varies: Set<Scenario.Name> = [
            .collapseAfterReject, .goAwayShutdown, .goAwayPartial, .drop, .reset, .halfOpen, .slow, .tooManyRequests,
            .tokenUpdates, .expiredWedge, .unrelatedKey, .badDeviceShare, .unregisteredShare, .settingsFlap,
        ]
        if varies.contains(name) { #expect(try run(seed: 5) != run(seed: 6)) }
    }

    @Test("A push without an answer is not changed", arguments: Scenario.Name.allCases)
    func unanswered(name: Scenario.Name) throws {
        var play = try play(name.rawValue)
        #expect(play.handle(.judged(stream: 1, status: nil, deviceToken: "a"), at: 0) == [])
    }
}
