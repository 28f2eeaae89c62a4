import PushModel
import Store
import Testing

extension Scene {
    /// Registers an address of each platform, for the topic `news`.
    fileprivate func registerEach() async throws -> [Registration] {
        let made = try await register(Self.addresses)
        _ = try await store.subscribe(made.map(\.key), to: Self.topic("news"), at: Timestamp(milliseconds: 0))
        return made
    }

    /// A message that lives for two seconds in browsers and for four on Android.
    fileprivate static func differing(_ message: NewMessage) -> NewMessage {
        var message = message
        message.platforms = [
            .apple: PlatformFacts(
                collapseKey: "news", priority: 10, timeToLiveSeconds: 3600, expiresAt: message.expiresAt),
            .android: PlatformFacts(
                collapseKey: nil, priority: 5, timeToLiveSeconds: 4, expiresAt: message.acceptedAt + .seconds(4)),
            .web: PlatformFacts(
                collapseKey: "topic", priority: 1, timeToLiveSeconds: 2, expiresAt: message.acceptedAt + .seconds(2)),
        ]
        return message
    }

    /// What an export says of each platform: collapse key, priority and time to live.
    fileprivate func exportedFacts() async throws -> [Platform: Set<String>] {
        let rows = try await store.export(
            project: project, from: nil, to: Timestamp(milliseconds: 900_000_000),
            at: Timestamp(milliseconds: 900_000_000),
            after: nil, limit: 100
        ).elements
        return Dictionary(grouping: rows, by: \.delivery.app.platform).mapValues { rows in
            Set(rows.map { "\($0.facts.collapseKey ?? "-") \($0.facts.priority) \($0.facts.timeToLiveSeconds)" })
        }
    }

    /// The platforms of the deliveries that ended so.
    fileprivate func platforms(of message: Message, _ outcome: LedgerOutcome) async throws -> [Platform] {
        try await store.deliveries(of: message.id, in: project, outcome: outcome, after: nil, limit: 50).elements
            .map(\.app.platform)
    }
}

/// What is not the same on each platform that a message reaches.
extension ConformanceCase {
    private static let web = 3000, android = 5000

    static let platformFacts: [ConformanceCase] = [
        ConformanceCase("an export says of a delivery what the message is on its platform") { scene in
            let made = try await scene.registerEach()
            let message = try await scene.send(
                Scene.differing(try scene.newMessage(.topic(Scene.topic("news")), at: 1000)))
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.ended() })
            let receipt = Receipt(message: message.id, kind: .received, time: Timestamp(milliseconds: 3500))
            _ = try await scene.store.keep(
                [receipt], of: made[2].key, in: scene.project, at: Timestamp(milliseconds: 3500))
            let expected: [Platform: Set<String>] = [
                .apple: ["news 10 3600"], .android: ["- 5 4"], .web: ["topic 1 2"],
            ]
            #expect(try await scene.exportedFacts() == expected)
            #expect(try await scene.report(message).message.facts.collapseKey == "news", "the message's own")
            // They outlive what the message said, and go with the message.
            let rules = RetentionRules(standard: RetentionPolicy(ledgerDays: 5, payloadDays: 1))
            func remove(_ part: RetentionPart, at day: Int64) async throws {
                let time = Timestamp(milliseconds: day * 86_400_000)
                while try await !scene.store.remove(part, by: rules, at: time).isDone {}
            }
            try await remove(.payloads, at: 3)
            #expect(try await scene.store.message(message.id, in: scene.project)?.body.isRemoved == true)
            #expect(try await scene.exportedFacts() == expected)
            try await remove(.messages, at: 9)
            #expect(try await scene.store.message(message.id, in: scene.project) == nil)
            scene.forget(message)
            while try await scene.store.forgetEvents(before: Timestamp(milliseconds: 1 << 50), limit: 1000) == 1000 {}
        },
        ConformanceCase("a list says the same of all where platforms do not differ") { scene in
            let made = try await scene.registerEach()
            _ = try await scene.send(.list(made.map(\.key).sorted()), at: 1000)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            #expect(Set(try await scene.exportedFacts().values) == [["news 10 3600"]])
        },
        ConformanceCase("what is set aside for a held route ends with the time of its platform") { scene in
            _ = try await scene.registerEach()
            let held = Set(
                [Channel.webPush, .fcm].map { PushRoute(project: scene.project, app: scene.app, channel: $0) })
            let message = try await scene.send(
                Scene.differing(try scene.newMessage(.topic(Scene.topic("news")), at: 1000)))
            let page = try #require(try await scene.claimPage(held: held))
            #expect(page.deliveries.map(\.registration.address.platform) == [.apple])
            let store = scene.store
            func expire(_ time: Int) async throws -> Int {
                try await store.bookExpired(limit: 99, at: Timestamp(milliseconds: Int64(time)))
            }
            #expect(try await expire(web - 1) == 0)
            #expect(try await expire(web) == 1)
            #expect(try await scene.platforms(of: message, .expired) == [.web])
            #expect(try await expire(android - 1) == 0)
            try await scene.check()
            // The route is free again: what has not expired is claimed.
            let rest = try #require(try await scene.claimPage(at: 4000))
            #expect(rest.deliveries.map(\.registration.address.platform) == [.android])
            #expect(try await expire(android) == 0, "it is claimed")
            #expect(
                try await scene.settle((page.deliveries + rest.deliveries).map { $0.ended(at: 5000) }) == [message.id])
            #expect(try await scene.report(message).ended == [.accepted: 2, .expired: 1, .rejected: 0, .cancelled: 0])
        },
        ConformanceCase("retries and single deliveries end with the time of their platform") { scene in
            let made = try await scene.registerEach()
            let topic = try await scene.send(
                Scene.differing(try scene.newMessage(.topic(Scene.topic("news")), at: 1000)))
            let list = try await scene.send(
                Scene.differing(try scene.newMessage(.list(made.map(\.key).sorted()), at: 1000)))
            // One that lives as long everywhere.
            let other = try await scene.send(.list(made.map(\.key).sorted()), at: 1000)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.retried(at: 90_000) })
            let store = scene.store
            func expire(_ time: Int, limit: Int = 99) async throws -> Int {
                try await store.bookExpired(limit: limit, at: Timestamp(milliseconds: Int64(time)))
            }
            #expect(try await expire(web, limit: 1) == 1)
            try await scene.check()
            #expect(try await expire(web) == 1)
            #expect(try await expire(web) == 0)
            #expect(try await expire(android) == 2)
            for message in [topic, list] {
                #expect(
                    try await scene.platforms(of: message, .expired).sorted { $0.rawValue < $1.rawValue } == [
                        .android, .web,
                    ])
                #expect(try await scene.report(message).inFlight == 1)
            }
            #expect(try await scene.report(other).inFlight == 3)
            let ends = await store.takeOwnEnds()
            #expect(ends.reduce(0) { $0 + $1.count } == 4 && ends.allSatisfy { $0.outcome == .expired })
            // A paused message waits, and expires when it goes on.
            let paused = try await scene.send(
                Scene.differing(try scene.newMessage(.list(made.map(\.key).sorted()), at: 1000)))
            for control in [MessageControl.pause, .resume] {
                _ = try await store.control(
                    paused.id, in: scene.project, control, at: Timestamp(milliseconds: 2000), by: .gateway)
                #expect(try await expire(web) == (control == .pause ? 0 : 1))
            }
        },
        ConformanceCase("a message to one registration has no other platform") { scene in
            let made = try await scene.registerEach()
            let (store, message) = (
                scene.store, Scene.differing(try scene.newMessage(.registration(made[0].key), at: 1000))
            )
            try await expectStoreError(.failed) { _ = try await store.accept([message], claimedBy: nil) }
        },
    ]
}
