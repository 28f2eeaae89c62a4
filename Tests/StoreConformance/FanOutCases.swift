import JSON
import PushModel
import Store
import TestSupport
import Testing

extension Condition {
    /// `left && right`.
    static func all(_ left: Expression, _ right: Expression) -> Expression { .all(left, right) }
}

extension Scene {
    static func condition(_ expression: Condition.Expression) -> Condition {
        Condition(text: "made by a test", expression: expression)
    }

    /// Claims and accepts all that a message has, page by page.
    func drain(_ limit: Int = 3) async throws -> [RegistrationKey] {
        var keys: [RegistrationKey] = []
        while let page = try await claimPage(limit) {
            #expect(page.deliveries.count <= limit)
            keys += page.deliveries.map(\.registration.key)
            try await settle(page.deliveries.map { $0.ended() })
        }
        return keys
    }

    func route(_ environment: PushEnvironment) -> PushRoute {
        PushRoute(project: project, app: app, channel: .apns(environment))
    }
}

extension ConformanceCase {
    static let conditions: [ConformanceCase] = [
        ConformanceCase("a condition reaches whom it holds for, in the order of keys") { scene in
            let (a, b, c) = (Scene.topic("a"), Scene.topic("b"), Scene.topic("c"))
            var all: [Registration] = []
            // The number's bits say to what it subscribes.
            for number in 0..<16 {
                let made = try await scene.register(number)
                all.append(made)
                for (bit, topic) in [a, b, c].enumerated() where number >> bit & 1 == 1 {
                    _ = try await scene.store.subscribe([made.key], to: topic, at: Timestamp(milliseconds: 1))
                }
            }
            let cases: [(Condition.Expression, (Bool, Bool, Bool) -> Bool, Int)] = [
                (.subscribed(a), { a, _, _ in a }, 8),
                (.all(.subscribed(a), .subscribed(b)), { a, b, _ in a && b }, 8),
                (.any(.subscribed(a), .subscribed(b)), { a, b, _ in a || b }, 16),
                (
                    .all(.subscribed(a), .any(.subscribed(b), .not(.subscribed(c)))), { a, b, c in a && (b || !c) }, 8
                ),
                (.not(.subscribed(c)), { _, _, c in !c }, 16),
                (.all(.not(.subscribed(a)), .not(.not(.subscribed(b)))), { a, b, _ in !a && b }, 16),
                (.any(.not(.subscribed(a)), .all(.subscribed(b), .subscribed(c))), { a, b, c in !a || (b && c) }, 16),
            ]
            for (expression, holds, bound) in cases {
                let condition = Scene.condition(expression)
                let message = try await scene.send(.condition(condition), at: 1000)
                #expect(message.recipient == .condition(condition) && message.audience == bound)
                let stored = try await scene.store.message(message.id, in: scene.project)
                #expect(stored?.recipient == message.recipient)
                let expected = all.enumerated().filter { number, _ in
                    holds(number & 1 == 1, number >> 1 & 1 == 1, number >> 2 & 1 == 1)
                }.map(\.element.key)
                #expect(
                    try await scene.store.audience(of: .condition(condition), in: scene.project) == expected.count)
                #expect(try await scene.drain() == expected)
                #expect(try await scene.report(message).state == .complete)
                #expect(try await scene.report(message).recipients == expected.count)
            }
        },
        ConformanceCase("a condition asks by the subscriptions of accept, and excludes by those of the claim") {
            scene in
            let (a, b) = (Scene.topic("a"), Scene.topic("b"))
            let audience = try await scene.audience(6, of: a)
            let excluded = [audience[0], audience[4], audience[5]].map(\.key)
            _ = try await scene.store.subscribe(excluded, to: b, at: Timestamp(milliseconds: 1))
            let message = try await scene.send(
                .condition(Scene.condition(.all(.subscribed(a), .not(.subscribed(b))))), at: 1000)
            // Subscribes to what excludes it; joins; leaves; leaves what excludes it and joins again; leaves that.
            _ = try await scene.store.subscribe([audience[1].key], to: b, at: Timestamp(milliseconds: 1001))
            _ = try await scene.audience(1, of: a, from: 20)
            _ = try await scene.store.unsubscribe([audience[3].key], from: a)
            _ = try await scene.store.unsubscribe([audience[4].key, audience[5].key], from: b)
            _ = try await scene.store.subscribe([audience[4].key], to: b, at: Timestamp(milliseconds: 1002))
            #expect(try await scene.drain() == [audience[2].key, audience[5].key])
            #expect(try await scene.report(message).state == .complete)
        },
        ConformanceCase("whom a negated condition reaches was registered by accept, in the project, and is active") {
            scene in
            let here = try await scene.register(1)
            let ended = try await scene.register(2)
            var request = scene.request(3)
            request.project = ProjectID(rawValue: "other")!
            _ = try await scene.store.register(request, at: Timestamp(milliseconds: 1))
            let last = try await scene.register(4)
            let message = try await scene.send(
                .condition(Scene.condition(.not(.subscribed(Scene.topic("unknown"))))), at: 1000)
            _ = try await scene.register(5)
            try await scene.store.end(ended.key, RegistrationEnd(time: Timestamp(milliseconds: 2), cause: .deleted))
            #expect(try await scene.drain() == [here.key, last.key])
            #expect(try await scene.report(message).state == .complete)
        },
        ConformanceCase("a condition that cannot hold for anybody is complete at once") { scene in
            _ = try await scene.audience(2, of: Scene.topic("a"))
            let message = try await scene.send(
                .condition(Scene.condition(.all(.subscribed(Scene.topic("a")), .subscribed(Scene.topic("b"))))),
                at: 1000)
            #expect(message.audience == 0)
            #expect(try await scene.report(message).completedAt == Timestamp(milliseconds: 1000))
        },
    ]

    static let lists: [ConformanceCase] = [
        ConformanceCase("a small list makes single deliveries, counted from the start") { scene in
            var keys: [RegistrationKey] = []
            for number in 0..<5 { keys.append(try await scene.register(number).key) }
            try await scene.store.end(keys[1], RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            let message = try await scene.send(.list(keys), at: 1000)
            #expect(message.recipient == .list(5))
            #expect(try await scene.openFanOuts().isEmpty)
            let report = try await scene.report(message)
            #expect(report.recipients == 5 && report.inFlight == 5)
            let due = try await scene.claimDue(.interactive)
            #expect(due.map(\.registration.key).sorted() == keys)
            #expect(due.filter { !$0.registration.isActive }.map(\.registration.key) == [keys[1]])
            #expect(try await scene.settle(due.map { $0.ended() }) == [message.id])
        },
        ConformanceCase("a large list fans out to its active registrations") { scene in
            var keys: [RegistrationKey] = []
            for number in 0..<2300 { keys.append(try await scene.register(number).key) }
            let chosen = keys.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            let user = try #require(UserID(rawValue: "alice"))
            let message = try await scene.send(.user(user, chosen), at: 1000)
            #expect(message.recipient == .user(user, 1150))
            #expect(try await scene.store.message(message.id, in: scene.project)?.recipient == message.recipient)
            #expect(scene.store.load.total.bytes > message.body.bytes.count + 1000)
            for gone in [chosen[0], chosen[1149]] {
                try await scene.store.end(gone, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            }
            #expect(try await scene.store.audience(of: .list(chosen), in: scene.project) == 1148)
            #expect(try await scene.drain(400) == Array(chosen[1..<1149]))
            #expect(try await scene.report(message).state == .complete)
            #expect(scene.store.load == StoreLoad())
        },
        ConformanceCase("a list without anybody is complete, and one out of order is refused") { scene in
            let message = try await scene.send(.list([]), at: 1000)
            #expect(try await scene.report(message).state == .complete)
            let made = try await scene.register(1)
            let wrong = try scene.newMessage(.list([made.key, made.key]), at: 1000)
            let store = scene.store
            try await expectStoreError(.failed) { _ = try await store.accept(wrong) }
        },
    ]

    static let routes: [ConformanceCase] = [
        ConformanceCase("nothing is claimed for a route that is held, and all of it when that ends") { scene in
            let topic = Scene.topic("news")
            var made: [Registration] = []
            for number in 0..<12 {
                let request = scene.request(number, environment: number % 3 == 0 ? .sandbox : .production)
                made.append(try await scene.store.register(request, at: Timestamp(milliseconds: 0)).registration)
            }
            _ = try await scene.store.subscribe(made.map(\.key), to: topic, at: Timestamp(milliseconds: 0))
            let message = try await scene.broadcast(topic)
            let first = try #require(try await scene.claimPage(3))
            #expect(first.deliveries.map(\.registration.key) == made[0..<3].map(\.key))
            let held: Set = [scene.route(.sandbox)]
            var rest: [ClaimedDelivery] = []
            while let page = try await scene.claimPage(2, held: held) { rest += page.deliveries }
            #expect(rest.map(\.registration.key) == made[3...].filter { $0.environment == .production }.map(\.key))
            try await scene.check()
            let open = try await scene.openFanOuts()
            #expect(open.map(\.route) == [scene.route(.sandbox)])
            #expect(open.map(\.remaining) == [3])
            // Asked for all the same.
            let refused = try await scene.store.claimPage(
                of: open[0].id, limit: 9, held: held, by: scene.worker, at: Timestamp(milliseconds: 2000))
            #expect(refused.page == nil && !refused.isDone)
            try await scene.settle((first.deliveries + rest).map { $0.ended() })
            #expect(try await scene.report(message).state == .active)
            let late = try #require(try await scene.claimPage())
            #expect(
                late.deliveries.map(\.registration.key) == made[3...].filter { $0.environment == .sandbox }.map(\.key))
            #expect(try await scene.settle(late.deliveries.map { $0.ended() }) == [message.id])
        },
        ConformanceCase("due deliveries are claimed route by route, and follow their registration") { scene in
            let first = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 0)).registration
            let second = try await scene.store.register(
                scene.request(2, environment: .sandbox), at: Timestamp(milliseconds: 0)
            ).registration
            _ = try await scene.send(to: first)
            _ = try await scene.send(to: second)
            let (store, worker, time) = (scene.store, scene.worker, Timestamp(milliseconds: 2000))
            let routes = try await store.dueRoutes(.interactive, at: time).routes
            #expect(Set(routes) == [scene.route(.production), scene.route(.sandbox)] && routes.count == 2)
            _ = try await store.change(
                first.key, RegistrationChange(address: .environment(.sandbox)), at: Timestamp(milliseconds: 1500))
            let none = try await store.claimDue(
                .interactive, scene.route(.production), limit: 9, by: worker, at: time)
            #expect(none.isEmpty)
            #expect(try await store.dueRoutes(.interactive, at: time).routes == [scene.route(.sandbox)])
            let both = try await store.claimDue(.interactive, scene.route(.sandbox), limit: 9, by: worker, at: time)
            #expect(both.map(\.registration.key) == [first.key, second.key])
            #expect(both.allSatisfy { $0.registration.environment == .sandbox })
        },
    ]
}
