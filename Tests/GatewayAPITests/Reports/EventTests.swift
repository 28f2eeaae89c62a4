import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// What happened, as followers read it.
@Suite(.timeLimit(.minutes(5)))
struct EventTests {
    private static let path = "/v1/projects/demo/events"

    private struct NoNumber: Error {}

    private static func types(_ answer: Answer) throws -> [String] {
        try #require(try answer.list("events")).map { try #require($0["type"]?.stringValue) }
    }

    /// Three installs, a broadcast to them, and its end: the first is rejected.
    private static func broadcast(on gateway: TestGateway) async throws -> String {
        _ = try await gateway.subscribe(3)
        let name = try await gateway.send(
            #""topic":"news""#, #""notification":{"title":"Hi"},"fcm_options":{"analytics_label":"spring"}"#)
        try await gateway.finish(.bulk) { $0 == 0 ? (.rejected, "BadDeviceToken") : (.accepted, nil) }
        try await gateway.finish(.bulk)
        return name
    }

    @Test func eventsAreInOrderAndSayWhatHappened() async throws {
        let gateway = try await TestGateway()
        let name = try await Self.broadcast(on: gateway)
        let answer = try await gateway.request(.get, Self.path, as: .sender)
        #expect(answer.status == 200)
        #expect(
            try Self.types(answer) == [
                "message.accepted", "delivery.accepted", "delivery.accepted", "delivery.rejected", "message.finished",
            ])
        let events = try #require(try answer.list("events"))
        #expect(events.map { $0["sequence"] } == (1...5).map { .number("\($0)") })
        #expect(events[0]["timestamp"] == .string(TestGateway.startText))
        #expect(events[0]["data"] == .object([.init("message", .string(name))]))
        let rejected = try #require(events[3]["data"])
        #expect(rejected["message"] == .string(name) && rejected["reason"] == .string("BadDeviceToken"))
        #expect(rejected["app"] == .string("com.example.app") && rejected["attempts"] == .number("1"))
        #expect(rejected["label"] == .string("spring") && rejected["topic"] == .string("news"))
        #expect(try answer.json["lastSequence"] == .number("5") && answer.json["nextPageToken"] == nil)
    }

    @Test func pagesGoOnAfterANumberAndFailuresStandAlone() async throws {
        let gateway = try await TestGateway()
        _ = try await Self.broadcast(on: gateway)
        var (token, types): (String?, [String]) = (nil, [])
        repeat {
            let query = token.map { "&pageToken=\($0)" } ?? ""
            let page = try await gateway.request(.get, Self.path + "?pageSize=2" + query)
            types += try Self.types(page)
            token = try page.json["nextPageToken"]?.stringValue
        } while token != nil
        #expect(types.count == 5)
        let rest = try await gateway.request(.get, Self.path + "?after=3")
        #expect(try Self.types(rest) == ["delivery.rejected", "message.finished"])
        let failures = try await gateway.request(.get, Self.path + "?onlyFailures=true")
        #expect(try Self.types(failures) == ["delivery.rejected"])
        #expect(try failures.json["lastSequence"] == .number("5"))
        let now = try await gateway.request(.get, Self.path + "?after=now")
        #expect(try Self.types(now).isEmpty && now.json["lastSequence"] == .number("5"))
        let later = try await gateway.request(.get, Self.path + "?startTime=2026-01-02T03:04:05.800Z")
        #expect(try Self.types(later).count == 4)
    }

    @Test func anotherProjectSeesNone() async throws {
        let gateway = try await TestGateway()
        _ = try await Self.broadcast(on: gateway)
        let answer = try await gateway.request(
            .get, "/v1/projects/other/events", as: nil,
            headers: [.authorization: "Bearer \(gateway.foreignKey.text)"])
        #expect(answer.status == 200)
        #expect(try Self.types(answer).isEmpty)
    }

    @Test(arguments: ["after=x", "after=-1", "after=1.5", "wait=5", "wait=-1s", "onlyFailures=maybe", "startTime=now"])
    func aWrongParameterIsRefused(query: String) async throws {
        let answer = try await TestGateway().request(.get, Self.path + "?" + query)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
    }

    @Test func aNumberThatIsNotKeptOrNotThereYetIsOutOfRange() async throws {
        let gateway = try await TestGateway()
        _ = try await Self.broadcast(on: gateway)
        _ = try await gateway.store.forgetEvents(before: gateway.clock.now, limit: 1)
        for number in [0, 6] {
            let answer = try await gateway.request(.get, Self.path + "?after=\(number)")
            #expect(answer.status == 400)
            #expect(try answer.errorStatus == "OUT_OF_RANGE")
            #expect(answer.text.contains(#""oldestSequence":"2""#))
            #expect(answer.text.contains(#""newestSequence":"5""#))
        }
        // Without a number it begins with the oldest.
        #expect(try Self.types(await gateway.request(.get, Self.path)).count == 4)
        #expect(try await gateway.request(.get, Self.path + "?after=1").status == 200)
    }

    @Test func aWaitEndsWithTheFirstEventThatTheFilterKeeps() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(2)
        let clock = TestClock()
        let services = gateway.services(waitingBy: clock)
        async let waiting = gateway.request(.get, Self.path + "?after=now&wait=30s&onlyFailures=true", over: services)
        await clock.sleepers(1, within: .seconds(30))
        // The first commit has no failure: the question goes on waiting, and looks again after a rest.
        _ = try await gateway.send(#""topic":"news""#)
        await clock.sleepers(1, within: .milliseconds(50))
        try await gateway.finish(.bulk) { _ in (.rejected, "BadDeviceToken") }
        clock.advance(by: .milliseconds(50))
        let answer = try await waiting
        #expect(try Self.types(answer) == ["delivery.rejected", "delivery.rejected"])
        #expect(clock.now.offset == .milliseconds(50))
    }

    @Test func aWaitEndsWhenItsTimeIsOver() async throws {
        let gateway = try await TestGateway()
        let clock = TestClock()
        let services = gateway.services(waitingBy: clock)
        async let waiting = gateway.request(.get, Self.path + "?wait=20s", over: services)
        await clock.sleepers(1, within: .seconds(20))
        clock.advance(by: .seconds(20))
        let answer = try await waiting
        #expect(answer.status == 200)
        #expect(try Self.types(answer).isEmpty && answer.json["lastSequence"] == .number("0"))
    }

    /// What `herald report --watch` and `herald tail` ask for, while retention removes what ended long ago: a message that is
    /// open stays as a whole, its end is told, and only then does its time begin.
    @Test func aWatchedMessageComesToItsEndAcrossTheEdgeOfRetention() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        let old = try await gateway.send(#""token":"\#(install.token)""#)
        try await gateway.finish(.interactive)
        let name = try await gateway.send(#""token":"\#(install.token)""#)
        let now = try await gateway.request(.get, Self.path + "?after=now").json
        guard case .number(let last)? = now["lastSequence"] else { throw NoNumber() }
        let clock = TestClock()
        let services = gateway.services(waitingBy: clock)
        async let waiting = gateway.request(.get, Self.path + "?after=\(last)&wait=20s&pageSize=1", over: services)
        await clock.sleepers(1, within: .seconds(20))
        gateway.clock.advance(by: .seconds(200 * 86_400))
        try await gateway.removeWhatIsOutOfDate()
        #expect(try await gateway.request(.get, "/v1/\(old)").status == 404)
        let open = try await gateway.request(.get, "/v1/\(name)").json
        #expect(open["state"] == .string("ACTIVE") && open["payloadRemoved"] == nil)
        #expect(open["ledger"]?["inFlight"] == .number("1"))
        // Who follows from the start is told how many deliveries are gone, and nothing of their message.
        let all = try await gateway.request(.get, Self.path)
        #expect(try Self.types(all) == ["delivery.gap", "message.accepted"])
        try await gateway.finish(.interactive)
        #expect(try Self.types(await waiting) == ["delivery.accepted"])
        try await gateway.removeWhatIsOutOfDate()
        let end = try await gateway.request(.get, "/v1/\(name)").json
        #expect(end["state"] == .string("COMPLETE") && end["payloadRemoved"] == nil)
        #expect(end["ledger"]?["accepted"] == .number("1") && end["ledger"]?["inFlight"] == .number("0"))
        #expect(try await gateway.store.check() == [])
        gateway.clock.advance(by: .seconds(91 * 86_400))
        try await gateway.removeWhatIsOutOfDate()
        #expect(try await gateway.request(.get, "/v1/\(name)").status == 404)
        let rest = try await gateway.request(.get, Self.path + "?after=\(last)")
        #expect(try Self.types(rest) == ["delivery.gap"])
        #expect(try await gateway.store.check() == [])
    }

    /// Otherwise each wait for what is rare would begin at the same place again.
    @Test func aWaitThatFoundNothingSaysHowFarItLooked() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(2)
        let clock = TestClock()
        let services = gateway.services(waitingBy: clock)
        async let waiting = gateway.request(.get, Self.path + "?after=now&wait=20s&onlyFailures=true", over: services)
        await clock.sleepers(1, within: .seconds(20))
        _ = try await gateway.send(#""topic":"news""#)
        await clock.sleepers(1, within: .milliseconds(50))
        clock.advance(by: .seconds(20))
        let answer = try await waiting
        #expect(try Self.types(answer).isEmpty && answer.json["lastSequence"] == .number("1"))
    }
}

extension TestGateway {
    /// The services with a clock that the test moves.
    fileprivate func services(waitingBy clock: TestClock) -> GatewayServices {
        var services = services
        services.request.clock = clock
        return services
    }
}
