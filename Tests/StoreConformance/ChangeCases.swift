import PushModel
import Store
import TestSupport
import Testing

extension Scene {
    /// The device of `former` is that of `registration` from now on.
    func moveDevice(of former: Registration, to registration: Registration, at time: Int64) async throws {
        let change = RegistrationChange(address: .deviceToken(former.deviceToken))
        _ = try await store.change(registration.key, change, at: Timestamp(milliseconds: time))
        #expect(try await store.registration(former.id, in: project)?.isActive == false)
    }

    /// What an export up to `time` holds, read at that time.
    func export(to time: Int64) async throws -> [RegistrationID] {
        let end = Timestamp(milliseconds: time)
        return try await store.export(
            project: project, from: Timestamp(milliseconds: 0), to: end, at: end, after: nil, limit: 100
        ).elements.map(\.delivery.registration)
    }
}

extension ConformanceCase {
    /// A month in milliseconds.
    private static let month: Int64 = 30 * 86_400_000

    static let changes: [ConformanceCase] = [
        ConformanceCase("a device that moves to a registration that is not reached yet gets a broadcast once") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(5, of: topic)
            let message = try await scene.broadcast(topic)
            let first = try #require(try await scene.claimPage(2))
            try await scene.settle([first.deliveries[0].ended()])
            // One has it, one is getting it; a third one was not reached under its old registration either.
            try await scene.moveDevice(of: audience[0], to: audience[2], at: 2100)
            try await scene.moveDevice(of: audience[1], to: audience[3], at: 2100)
            let rest = try await scene.claimPage(9)
            #expect(rest?.deliveries.map(\.registration.key) == [audience[4].key])
            try await scene.settle([first.deliveries[1].ended()])
            try await scene.settle((rest?.deliveries ?? []).map { $0.ended() })
            #expect(try await scene.report(message).state == .complete)
            #expect(try await scene.report(message).recipients == 3)
            // The next one goes to the registration that has the device now.
            let next = try await scene.broadcast(topic, at: 4000)
            #expect(try await scene.drain(9) == [audience[2].key, audience[3].key, audience[4].key])
            #expect(try await scene.report(next).recipients == 3)
        },
        ConformanceCase("a device that comes by way of a third registration gets a broadcast once as well") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let first = try #require(try await scene.claimPage(1))
            try await scene.settle(first.deliveries.map { $0.ended() })
            let between = try await scene.register(50)
            try await scene.moveDevice(of: audience[0], to: between, at: 2100)
            let middle = try #require(try await scene.store.registration(between.id, in: scene.project))
            try await scene.moveDevice(of: middle, to: audience[2], at: 2200)
            #expect(try await scene.drain(9) == [audience[1].key])
            #expect(try await scene.report(message).state == .complete)
        },
        ConformanceCase("a device whose old registration was not reached gets the broadcast under the new one") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.broadcast(topic)
            let first = try #require(try await scene.claimPage(1))
            try await scene.settle(first.deliveries.map { $0.ended() })
            try await scene.moveDevice(of: audience[1], to: audience[2], at: 2100)
            #expect(try await scene.drain(9) == [audience[2].key])
        },
        ConformanceCase("times that a clock gave a month ahead are set back") { scene in
            let made = try await scene.register(1, at: 1000)
            let early = try await scene.send(to: made, at: 1000)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended(at: 1100) })
            // For a moment the clock is a month ahead.
            _ = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: month))
            let ahead = try await scene.send(to: made, at: month)
            try await scene.settle(try await scene.claimDue(.interactive, at: month).map { $0.ended(at: month + 5) })
            #expect(try await scene.store.clampTimes(to: Timestamp(milliseconds: month)) == false, "it may be right")
            let now = Timestamp(milliseconds: 10_000)
            #expect(try await scene.store.clampTimes(to: now))
            #expect(try await scene.store.clampTimes(to: now) == false)
            #expect(try await scene.store.registration(made.id, in: scene.project)?.refreshedAt == now)
            let late = try await scene.send(to: made, at: 20_000)
            let claim = try #require(try await scene.claimDue(.interactive, at: 20_000).first)
            let dead = DeviceTokenVerdict.dead(since: Timestamp(milliseconds: 15_000))
            try await scene.settle([claim.ended(.rejected, reason: "Unregistered", verdict: dead, at: 20_100)])
            #expect(try await scene.store.registration(made.id, in: scene.project)?.isActive == false)
            #expect(try await scene.export(to: 5000) == [made.id], "what was exported before stays as it was")
            #expect(try await scene.export(to: 30_000) == [made.id, made.id, made.id])
            for message in [early, ahead, late] { #expect(try await scene.report(message).state == .complete) }
        },
        ConformanceCase("a clock that is hours behind sets nothing back") { scene in
            let made = try await scene.register(1)
            let hour: Int64 = 3_600_000
            for number in 1...5 {
                let time = Int64(number) * hour
                _ = try await scene.send(to: made, at: time)
                try await scene.settle(try await scene.claimDue(.interactive, at: time).map { $0.ended(at: time) })
            }
            #expect(try await scene.store.clampTimes(to: Timestamp(milliseconds: hour)) == false)
            #expect(try await scene.export(to: 2 * hour + 1).count == 2)
            #expect(try await scene.export(to: 5 * hour + 1).count == 5)
        },
        ConformanceCase("an export of now holds what is settled now, also after a clock that was ahead") { scene in
            let made = try await scene.register(1)
            _ = try await scene.send(to: made, at: month)
            try await scene.settle(try await scene.claimDue(.interactive, at: month).map { $0.ended(at: month) })
            #expect(try await scene.export(to: 10_000) == [], "the clock of the ledger is a month ahead")
            #expect(try await scene.store.clampTimes(to: Timestamp(milliseconds: 10_500)))
            _ = try await scene.send(to: made, at: 11_000)
            try await scene.settle(try await scene.claimDue(.interactive, at: 11_000).map { $0.ended(at: 11_000) })
            #expect(try await scene.export(to: 12_000) == [made.id, made.id])
        },
    ]
}
