import PushModel
import Store
import TestSupport
import Testing

extension Scene {
    fileprivate var home: ChannelHome { ChannelHome(project: project, app: app, environment: .production) }

    fileprivate static func name(_ text: String) -> ChannelName { ChannelName(rawValue: text)! }
    fileprivate static func id(_ text: String) -> ChannelID { ChannelID(rawValue: text)! }

    fileprivate func note(
        _ name: String, _ policy: StoragePolicy = .mostRecent, at time: Int64 = 1000, limit: Int = 10
    ) async throws -> ChannelIntent {
        try await store.noteChannel(
            Self.name(name), in: home, policy, at: Timestamp(milliseconds: time), limit: limit)
    }

    fileprivate func complete(_ name: String, id: String, at time: Int64 = 1500) async throws -> BroadcastChannel? {
        guard case .active(let channel) = try await completion(name, id: id, at: time) else { return nil }
        return channel
    }

    fileprivate func completion(_ name: String, id: String, at time: Int64 = 1500) async throws -> ChannelCompletion {
        try await store.completeChannel(
            Self.name(name), in: home, id: Self.id(id), at: Timestamp(milliseconds: time), audit: nil)
    }

    fileprivate func remove(_ name: String, id: String?) async throws -> Bool {
        try await store.removeChannel(
            Self.name(name), in: home, id: id.map(Self.id), at: Timestamp(milliseconds: 5000), audit: nil)
    }

    /// A channel that the service has.
    fileprivate func channel(_ name: String, id: String) async throws -> BroadcastChannel {
        #expect(try await note(name) == .noted)
        return try #require(try await complete(name, id: id))
    }

    /// The registration that stands for a channel.
    fileprivate func standIn(for channel: BroadcastChannel) async throws -> Registration {
        let id = try #require(channel.registration)
        return try #require(try await store.channelRegistration(id, in: project))
    }

    fileprivate func names() async throws -> [String] {
        try await store.channels(in: home, after: nil, limit: 100).elements.map(\.name.rawValue)
    }
}

extension ConformanceCase {
    static let broadcastChannels: [ConformanceCase] = [
        ConformanceCase("a channel is noted, then completed, and has one registration that stands for it") { scene in
            #expect(try await scene.note("match", .none) == .noted)
            let noted = try #require(try await scene.store.channel(Scene.name("match"), in: scene.home))
            #expect(noted.state == .creating && noted.id == nil && noted.registration == nil)
            let made = try #require(try await scene.complete("match", id: "a+/b=="))
            #expect(made.state == .active && made.id == Scene.id("a+/b==") && made.storagePolicy == .none)
            #expect(try await scene.store.channel(Scene.name("match"), in: scene.home) == made)
            let standIn = try await scene.standIn(for: made)
            #expect(standIn.id.isOfChannel && standIn.isActive && standIn.isProven && standIn.app == scene.app)
            let address = BroadcastAddress(id: Scene.id("a+/b=="), environment: .production, storagePolicy: .none)
            #expect(standIn.address == .broadcast(address))
            #expect(try await scene.store.channel(of: standIn.id, in: scene.project) == made)
            // Of another project, environment or name nothing is known.
            var elsewhere = scene.home
            elsewhere.environment = .sandbox
            #expect(try await scene.store.channel(Scene.name("match"), in: elsewhere) == nil)
            #expect(try await scene.store.channel(Scene.name("Match"), in: scene.home) == nil)
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.channelRegistration(standIn.id, in: other) == nil)
            #expect(try await scene.store.channel(of: standIn.id, in: other) == nil)
            #expect(try await scene.store.channelHomes(of: scene.project) == [scene.home])
        },
        ConformanceCase("a channel is no install: no list, count, condition or look-up has it") { scene in
            let device = try await scene.register(1)
            let standIn = try await scene.standIn(for: scene.channel("match", id: "id"))
            let page = try await scene.store.registrations(in: scene.project, .active, after: nil, limit: 9)
            #expect(page.elements.map(\.key) == [device.key])
            #expect(try await scene.store.registration(standIn.id, in: scene.project) == nil)
            #expect(try await scene.store.registration(token: standIn.token, in: scene.project) == nil)
            let everybody = Condition(text: "!('a' in topics)", expression: .not(.subscribed(Scene.topic("a"))))
            let message = try await scene.send(.condition(everybody), at: 2000)
            let claimed = try #require(try await scene.claimPage())
            #expect(claimed.deliveries.map(\.registration.key) == [device.key])
            try await scene.settle(claimed.deliveries.map { $0.ended() })
            #expect(try await scene.report(message).recipients == 1)
        },
        ConformanceCase("a publication is one delivery on the route of broadcasts") { scene in
            let standIn = try await scene.standIn(for: scene.channel("match", id: "id"))
            let message = try await scene.send(to: standIn)
            let route = PushRoute(project: scene.project, app: scene.app, channel: .broadcast(.production))
            #expect(
                try await scene.store.dueRoutes(.interactive, at: Timestamp(milliseconds: 2000)).routes == [route])
            try await scene.crash()
            _ = try await scene.rescue()
            let claimed = try await scene.claimDue(.interactive)
            #expect(claimed.map(\.registration.address) == [standIn.address])
            #expect(claimed.map(\.registration.id) == [standIn.id])
            try await scene.settle(claimed.map { $0.ended() })
            let report = try await scene.report(message)
            #expect(report.recipients == 1 && report.ended[.accepted] == 1 && report.state == .complete)
            #expect(report.message.recipient == .registration(standIn.id))
        },
        ConformanceCase("of the publications that wait for a channel only the newest goes out") { scene in
            let standIn = try await scene.standIn(for: scene.channel("match", id: "id"))
            let other = try await scene.standIn(for: scene.channel("other", id: "other"))
            let apart = try await scene.send(to: other, at: 1000)
            let first = try await scene.send(to: standIn, at: 1000)
            // One that is under way is left alone until its answer comes.
            let underWay = try await scene.claimDue(.interactive, at: 1000)
            #expect(underWay.map(\.message) == [apart.id, first.id])
            let second = try await scene.send(to: standIn, at: 1100)
            let third = try await scene.send(to: standIn, at: 1200)
            let superseded = try await scene.report(second)
            #expect(superseded.state == .complete && superseded.ended[.cancelled] == 1)
            let deliveries = try await scene.store.deliveries(
                of: second.id, in: scene.project, outcome: .cancelled, after: nil, limit: 9)
            #expect(deliveries.elements.map(\.reason) == ["Superseded"])
            #expect(try await scene.report(first).inFlight == 1)
            try await scene.settle(underWay.map { $0.retried(at: 3000) })
            #expect(try await scene.report(first).ended[.cancelled] == 1)
            let due = try await scene.claimDue(.interactive, at: 9000)
            #expect(Set(due.map(\.message)) == [apart.id, third.id])
            // What comes back while nothing newer waits goes out again.
            try await scene.settle(due.map { $0.retried(at: 9500) })
            #expect(Set(try await scene.claimDue(.interactive, at: 9500).map(\.message)) == [apart.id, third.id])
        },
        ConformanceCase("a name belongs to one channel, which can be made anew when it is lost") { scene in
            let first = try await scene.channel("match", id: "id-1")
            #expect(try await scene.note("match", .none) == .exists(first))
            #expect(try await scene.complete("match", id: "id-2") == nil)
            let time = Timestamp(milliseconds: 3000)
            let (missing, active, unknown) = try await scene.store.compareChannels(
                in: scene.home, with: [Scene.id("id-3")], at: time)
            #expect(missing == [first] && active == 1 && unknown == [Scene.id("id-3")])
            #expect(try await scene.store.loseChannels(missing, at: time) == [first.name])
            #expect(try await scene.store.loseChannels(missing, at: time) == [])
            let known = try #require(try await scene.store.channel(first.name, in: scene.home))
            #expect(known.state == .lost(since: Timestamp(milliseconds: 3000)))
            #expect(try await scene.standIn(for: first).end?.cause == .unregistered)
            #expect(try await scene.note("match", .none, at: 4000) == .noted)
            let second = try #require(try await scene.complete("match", id: "id-4", at: 4500))
            #expect(second.registration != first.registration && second.storagePolicy == .none)
            #expect(try await scene.names() == ["match"])
            #expect(try await scene.store.loseChannels([first], at: time) == [])
        },
        ConformanceCase("an id is one channel's, and a lost one's may be taken over") { scene in
            let first = try await scene.channel("match", id: "id-1")
            #expect(try await scene.completion("other", id: "id-1") == .notNoted)
            #expect(try await scene.note("other") == .noted)
            #expect(try await scene.completion("other", id: "id-1") == .idTaken(first.name))
            _ = try await scene.store.loseChannels([first], at: Timestamp(milliseconds: 3000))
            let unknown = try await scene.store.compareChannels(
                in: scene.home, with: [Scene.id("id-1")], at: Timestamp(milliseconds: 3500)
            ).unknown
            #expect(unknown == [Scene.id("id-1")])
            let second = try #require(try await scene.complete("other", id: "id-1", at: 4000))
            #expect(second.state == .active && second.registration != first.registration)
            #expect(try await scene.names() == ["other"])
        },
        ConformanceCase("what was made after the service was asked is not lost, nor is what is being made") { scene in
            _ = try await scene.channel("early", id: "id-1")
            #expect(try await scene.note("late", at: 1800) == .noted)
            _ = try await scene.complete("late", id: "id-2", at: 2500)
            #expect(try await scene.note("noted", at: 1900) == .noted)
            let (missing, active, unknown) = try await scene.store.compareChannels(
                in: scene.home, with: [Scene.id("id-1")], at: Timestamp(milliseconds: 2000))
            #expect(missing.isEmpty && active == 2 && unknown.isEmpty)
        },
        ConformanceCase("a dead address makes the channel lost") { scene in
            let channel = try await scene.channel("match", id: "id")
            _ = try await scene.send(to: try await scene.standIn(for: channel), at: 2000)
            let claimed = try await scene.claimDue(.interactive)
            try await scene.settle(
                claimed.map {
                    $0.ended(
                        .rejected, reason: "ChannelNotRegistered",
                        verdict: .dead(since: Timestamp(milliseconds: 3000)))
                })
            let known = try await scene.store.channel(channel.name, in: scene.home)
            #expect(known?.state == .lost(since: Timestamp(milliseconds: 3000)))
        },
        ConformanceCase("a note stays after a crash until it is completed or abandoned") { scene in
            #expect(try await scene.note("kept") == .noted)
            #expect(try await scene.note("dropped") == .noted)
            try await scene.crash()
            _ = try await scene.rescue()
            #expect(try await scene.names() == ["kept", "dropped"])
            try await scene.store.abandonChannel(Scene.name("dropped"), in: scene.home)
            #expect(try await scene.names() == ["kept"])
            #expect(try await scene.complete("dropped", id: "id") == nil)
            #expect(try await scene.note("kept") == .noted)
            let made = try #require(try await scene.complete("kept", id: "id"))
            try await scene.store.abandonChannel(made.name, in: scene.home)
            #expect(try await scene.store.channel(made.name, in: scene.home) == made)
        },
        ConformanceCase("channels are counted, limited, listed in pages and removed") { scene in
            for number in 1...3 { _ = try await scene.channel("m\(number)", id: "id-\(number)") }
            #expect(try await scene.note("m4", limit: 3) == .full(count: 3))
            #expect(try await scene.store.channelCount(in: scene.home) == 3)
            let page = try await scene.store.channels(in: scene.home, after: nil, limit: 2)
            #expect(page.elements.map(\.name.rawValue) == ["m1", "m2"])
            let rest = try await scene.store.channels(in: scene.home, after: page.nextCursor, limit: 2)
            #expect(rest.elements.map(\.name.rawValue) == ["m3"] && rest.nextCursor == nil)
            let standIn = try await scene.standIn(for: page.elements[0])
            // Not the one that another request made of the name meanwhile.
            #expect(try await !scene.remove("m1", id: "id-9"))
            #expect(try await !scene.remove("m1", id: nil))
            #expect(try await scene.remove("m1", id: "id-1"))
            #expect(
                try await scene.store.channelRegistration(standIn.id, in: scene.project)?.end?.cause == .deleted)
            #expect(try await !scene.remove("m1", id: "id-1"))
            // An id is one channel's.
            #expect(try await scene.note("m5") == .noted)
            #expect(try await scene.complete("m5", id: "id-2") == nil)
        },
    ]
}
