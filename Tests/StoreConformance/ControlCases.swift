import JSON
import PushModel
import Store
import Testing

extension Scene {
    @discardableResult
    func control(_ message: Message, _ control: MessageControl, at time: Int64 = 2500) async throws -> MessageState? {
        try await store.control(message.id, in: project, control, at: Timestamp(milliseconds: time), by: .gateway)
    }

    func bookCancelled(_ limit: Int = 1000, at time: Int64 = 2600) async throws -> Int {
        try await store.bookCancelled(limit: limit, at: Timestamp(milliseconds: time))
    }
}

extension ConformanceCase {
    static let workers: [ConformanceCase] = [
        ConformanceCase("a worker whose lease ran out is fenced, and what it had comes to another") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(4, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: audience[0])
            let store = scene.store
            let slow = try await scene.enroll("slow", until: 3000)
            let page = try #require(try await scene.claimPage(by: slow))
            let due = try await scene.claimDue(.interactive, by: slow)
            try await scene.settle([page.deliveries[0].ended()], by: slow)
            // Its lease is over, but no other worker took over yet.
            try await scene.renew(slow, until: 4000)
            #expect(try await scene.rescue(at: 3500) == 0)
            try await scene.settle([page.deliveries[1].ended()], by: slow)
            #expect(try await scene.rescue(at: 4001) == 3)
            try await scene.check()
            let route = scene.route(.production)
            let shard = try #require(try await scene.openFanOuts().first).id
            try await expectStoreError(.fenced) { try await store.renew(slow, for: .seconds(5)) }
            try await expectStoreError(.fenced) {
                _ = try await store.settle([page.deliveries[2].ended()], by: slow)
            }
            try await expectStoreError(.fenced) {
                _ = try await store.claimPage(
                    of: shard, limit: 9, held: [], by: slow, at: Timestamp(milliseconds: 4001))
            }
            try await expectStoreError(.fenced) {
                _ = try await store.claimDue(
                    .interactive, route, limit: 9, by: slow, at: Timestamp(milliseconds: 4001))
            }
            let again = try #require(try await scene.claimPage())
            #expect(again.deliveries.map(\.registration.key) == audience[2...3].map(\.key))
            // The late owner's answers count for nothing, under its own name or that of the new owner.
            try await expectStoreError(.fenced) { _ = try await store.settle(due.map { $0.ended() }, by: slow) }
            #expect(try await scene.settle(due.map { $0.ended() }).isEmpty)
            #expect(try await scene.report(single).inFlight == 1)
            #expect(try await scene.settle(again.deliveries.map { $0.ended() }) == [message.id])
            #expect(
                try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() }) == [single.id])
        },
        ConformanceCase("what one worker claimed another can't settle") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            _ = try await scene.send(to: audience[0])
            let other = try await scene.store.enroll("other", for: Scene.lease)
            #expect(other != scene.worker)
            let page = try #require(try await scene.claimPage())
            let due = try await scene.claimDue(.interactive)
            #expect(try await scene.settle((page.deliveries + due).map { $0.ended() }, by: other).isEmpty)
            try await scene.settle(page.deliveries.map { $0.retried(at: 1) }, by: other)
            #expect(try await scene.report(message).inFlight == 2)
            #expect(try await scene.settle((page.deliveries + due).map { $0.ended() }).count == 2)
        },
        ConformanceCase("an urgent single send is claimed with its accept, by a worker that is there") { scene in
            let made = try await scene.register(1)
            let store = scene.store
            let new = try scene.newMessage(.registration(made.key), at: 1000)
            let result = try await store.accept([new], claimedBy: scene.worker)
            guard case .accepted(let message, let claims)? = result.first else {
                Issue.record("\(result)")
                return
            }
            #expect(claims.map(\.registration) == [DeliveryRegistration(made)])
            #expect(claims.map(\.message) == [message.id] && claims[0].expiresAt == new.expiresAt)
            #expect(try await scene.claimDue(.interactive).isEmpty)
            #expect(try await scene.settle(claims.map { $0.ended() }) == [message.id])
            // Ended in the instant before: it is delivered, to be ended by the rules.
            try await store.end(made.key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            let late = try await store.accept(
                [try scene.newMessage(.registration(made.key), at: 1001)], claimedBy: scene.worker)
            guard case .accepted(_, let claimed)? = late.first else {
                Issue.record("\(late)")
                return
            }
            #expect(claimed.map(\.registration.isActive) == [false])
            // Neither what is not urgent nor for a worker that is gone.
            var slow = try scene.newMessage(.registration(made.key), at: 1002)
            slow.lane = .bulk
            let other = try await scene.enroll("gone", until: 10)
            _ = try await scene.rescue()
            let urgent = try scene.newMessage(.registration(made.key), at: 1003)
            for result in try await store.accept([slow], claimedBy: scene.worker)
                + store.accept([urgent], claimedBy: other)
            {
                guard case .accepted(_, let claims) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(claims.isEmpty)
            }
            #expect(try await scene.claimDue(.interactive).count == 1)
            #expect(try await scene.claimDue(.bulk).count == 1)
        },
    ]

    static let control: [ConformanceCase] = [
        ConformanceCase("a pause ends when the time of its message has run out") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let other = try await scene.broadcast(topic)
            for paused in [message, other] {
                #expect(try await scene.control(paused, .pause) == .paused)
            }
            _ = try await scene.control(other, .cancel)
            let last = message.expiresAt.milliseconds
            let store = scene.store
            let end = { (time: Int64) in
                try await store.endExpiredPauses(limit: 9, at: Timestamp(milliseconds: time))
            }
            #expect(try await end(last - 1) == 0)
            #expect(try await scene.claimPage() == nil)
            #expect(try await end(last) == 1)
            #expect(try await end(last) == 0)
            #expect(try await scene.report(message).state == .active)
            #expect(try await scene.report(other).state == .cancelled)
            #expect(try await scene.claimPage()?.deliveries.count == 3)
        },
        ConformanceCase("what is unclaimed ends with the time of its message") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(12, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: audience[0])
            let lost = try #require(try await scene.claimPage(3))
            try await scene.settle([lost.deliveries[1].ended()])
            try await scene.crash()
            #expect(try await scene.rescue() == 2)
            // The page that was given back comes first.
            let released = try #require(try await scene.claimPage(3))
            let page = try #require(try await scene.claimPage(2))
            try await scene.settle([released.deliveries[0].retried(at: 2000)])
            let last = max(message.expiresAt, single.expiresAt)
            let store = scene.store
            #expect(try await store.bookExpired(limit: 99, at: Timestamp(milliseconds: 3000)) == 0)
            var booked: [Int] = []
            repeat {
                booked.append(try await store.bookExpired(limit: 3, at: last))
                try await scene.check()
            } while booked.last == 3
            // One retry, seven that were never claimed, and the single send; not what is on its way.
            #expect(booked.reduce(0, +) == 9)
            #expect(try await store.bookExpired(limit: 99, at: last) == 0)
            #expect(try await scene.report(single).ended[.expired] == 1)
            #expect(try await scene.report(single).completedAt == last)
            #expect(try await scene.report(message).completedAt == nil)
            let open = [released.deliveries[1]] + page.deliveries
            #expect(try await scene.settle(open.map { $0.ended() }) == [message.id])
            let report = try await scene.report(message)
            #expect(report.ended == [.accepted: 4, .expired: 8, .rejected: 0, .cancelled: 0])
            #expect(report.recipients == 12 && report.inFlight == 0)
            let records = try await store.deliveries(
                of: message.id, in: scene.project, outcome: .expired, after: nil, limit: 50
            ).elements
            #expect(records.count == 8 && records.contains { $0.reason == "Expired" })
            // What the store ended by itself is told once, by reason as in the ledger.
            let ends = await store.takeOwnEnds()
            #expect(ends.reduce(0) { $0 + $1.count } == 9 && ends.allSatisfy { $0.outcome == .expired })
            #expect(ends.allSatisfy { $0.project == scene.project } && ends.contains { $0.reason == "Expired" })
            #expect(await store.takeOwnEnds() == [])
            #expect(store.load == StoreLoad())
        },
        ConformanceCase("nothing of a paused message is claimed until it is resumed") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(4, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage(3))
            try await scene.settle([page.deliveries[0].retried(at: 2000)])
            let shard = try #require(try await scene.openFanOuts().first).id
            #expect(try await scene.control(message, .pause) == .paused)
            #expect(try await scene.control(message, .pause) == .paused)
            try await scene.check()
            #expect(try await scene.openFanOuts().isEmpty)
            let claim = try await scene.store.claimPage(
                of: shard, limit: 9, held: [], by: scene.worker, at: Timestamp(milliseconds: 2500))
            #expect(claim.page == nil && claim.isDone)
            let none = try await scene.store.dueRoutes(.bulk, at: Timestamp(milliseconds: 9000))
            #expect(none == DueRoutes())
            // What was claimed goes on.
            try await scene.settle([page.deliveries[1].ended(), page.deliveries[2].retried(at: 2000)])
            try await scene.check()
            #expect(try await scene.store.dueRoutes(.bulk, at: Timestamp(milliseconds: 9000)) == DueRoutes())
            #expect(try await scene.store.backlog() == [.interactive: 0, .bulk: 3])
            #expect(try await scene.report(message).state == .paused)
            try await scene.crash()
            _ = try await scene.rescue()
            #expect(try await scene.claimPage() == nil)
            #expect(try await scene.control(message, .resume) == .active)
            try await scene.check()
            let due = try await scene.claimDue(.bulk)
            let rest = try #require(try await scene.claimPage())
            #expect(due.count == 2 && rest.deliveries.count == 1)
            #expect(try await scene.settle((due + rest.deliveries).map { $0.ended() }) == [message.id])
            #expect(try await scene.control(message, .pause) == .complete)
        },
        ConformanceCase("cancelling books what was not claimed, in steps, and the rest ends by its answer") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(20, of: topic)
            let message = try await scene.broadcast(topic)
            let lost = try #require(try await scene.claimPage(3))
            try await scene.settle([lost.deliveries[1].ended()])
            try await scene.crash()
            #expect(try await scene.rescue() == 2)
            let released = try #require(try await scene.claimPage(3))
            let page = try #require(try await scene.claimPage(4))
            try await scene.settle([page.deliveries[0].retried(at: 9000), page.deliveries[1].ended()])
            try await scene.crash()
            #expect(try await scene.rescue() == 4)
            let claimed = try #require(try await scene.claimPage())
            #expect(claimed.id == released.id)
            #expect(try await scene.control(message, .cancel) == .cancelled)
            #expect(try await scene.control(message, .resume) == .cancelled)
            try await scene.check()
            #expect(try await scene.claimPage() == nil)
            #expect(try await scene.claimDue(.bulk, at: 9000).isEmpty)
            #expect(try await scene.report(message).completedAt == nil)
            // Two of the page given back, one retry and 13 that were never claimed.
            var booked: [Int] = []
            repeat {
                booked.append(try await scene.bookCancelled(5))
                try await scene.check()
            } while booked.last == 5
            #expect(booked.reduce(0, +) == 16)
            #expect(try await scene.report(message).completedAt == nil)
            // A retry of a cancelled message ends.
            #expect(
                try await scene.settle([claimed.deliveries[0].ended(), claimed.deliveries[1].retried(at: 9000)])
                    == [message.id])
            let report = try await scene.report(message)
            #expect(report.state == .cancelled && report.completedAt != nil)
            #expect(report.recipients == 20 && report.inFlight == 0)
            #expect(report.ended == [.accepted: 3, .cancelled: 17, .rejected: 0, .expired: 0])
            let records = try await scene.store.deliveries(
                of: message.id, in: scene.project, outcome: .cancelled, after: nil, limit: 50
            ).elements
            #expect(records.count == 17 && records.allSatisfy { $0.reason == "Cancelled" })
            #expect(
                await scene.store.takeOwnEnds() == [
                    StoreEnds(project: scene.project, outcome: .cancelled, reason: "Cancelled", count: 17)
                ])
            #expect(scene.store.load == StoreLoad())
        },
        ConformanceCase("cancelling conditions, lists and single sends books each recipient") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(130, of: topic)
            let keys = audience.map(\.key)
            let messages = [
                try await scene.send(.condition(Scene.condition(.not(.subscribed(Scene.topic("x"))))), at: 1000),
                try await scene.send(.list(keys), at: 1000),
                try await scene.send(.list(Array(keys[0..<5])), at: 1000),
                try await scene.send(to: audience[0]),
            ]
            for message in messages { #expect(try await scene.control(message, .cancel) == .cancelled) }
            #expect(try await scene.bookCancelled() == 130 + 130 + 5 + 1)
            #expect(try await scene.bookCancelled() == 0)
            for (message, count) in zip(messages, [130, 130, 5, 1]) {
                let report = try await scene.report(message)
                #expect(report.recipients == count && report.ended[.cancelled] == count)
                #expect(report.completedAt == Timestamp(milliseconds: 2600))
            }
        },
        ConformanceCase("a single send that is under way when it is cancelled ends by its answer") { scene in
            let made = try await scene.register(1)
            let first = try await scene.send(to: made)
            let second = try await scene.send(to: made, at: 1001)
            let due = try await scene.claimDue(.interactive)
            try await scene.control(first, .cancel)
            try await scene.control(second, .cancel)
            #expect(try await scene.bookCancelled() == 0)
            #expect(
                try await scene.settle([due[0].ended(), due[1].retried(at: 9000)]) == [first.id, second.id])
            #expect(try await scene.report(first).ended[.accepted] == 1)
            let report = try await scene.report(second)
            #expect(report.ended[.cancelled] == 1 && report.state == .cancelled)
            let record = try await scene.store.deliveries(
                of: second.id, in: scene.project, outcome: nil, after: nil, limit: 5
            ).elements.first
            #expect(record?.history.unknownAttempts == 1)
        },
        ConformanceCase("control of a message that is not there says so") { scene in
            let message = try await scene.send(to: try await scene.register(1))
            let other = try await scene.store.control(
                message.id, in: ProjectID(rawValue: "other")!, .cancel, at: Timestamp(milliseconds: 1), by: .gateway)
            #expect(other == nil)
            #expect(try await scene.report(message).state == .active)
        },
    ]

    static let idempotency: [ConformanceCase] =
        accepts + [
            ConformanceCase("an idempotency key outlives the process") { scene in
                let made = try await scene.register(1)
                func message(_ digest: UInt8, at time: Int64) throws -> NewMessage {
                    var message = try scene.newMessage(.registration(made.key), at: time)
                    message.idempotency = IdempotencyKey(key: "a", digest: Array(repeating: digest, count: 32))
                    return message
                }
                let first = try message(1, at: 1000)
                _ = try await scene.store.accept([first], claimedBy: nil)
                try await scene.crash()
                let again = try await scene.store.accept(
                    [try message(1, at: 1001), try message(2, at: 1001)], claimedBy: scene.worker)
                #expect(again.map(\.kind) == ["repeated \(first.id)", "conflict"])
                #expect(try await scene.claimDue(.interactive).count == 1)
            },
            ConformanceCase("a batch is accepted as a whole or not at all") { scene in
                let made = try await scene.register(1)
                let good = try scene.newMessage(.registration(made.key), at: 1000)
                let bad = try scene.newMessage(.list([made.key, made.key]), at: 1000)
                let store = scene.store
                try await expectStoreError(.failed) { _ = try await store.accept([good, bad], claimedBy: nil) }
                #expect(scene.store.load == StoreLoad())
                #expect(try await scene.claimDue(.interactive).isEmpty)
            },
            ConformanceCase("the load counts messages and their bytes, in total and by project") { scene in
                let made = try await scene.register(1)
                let first = try await scene.send(to: made)
                let bytes = first.body.bytes.count
                var other = try scene.newMessage(.registration(made.key), at: 1000)
                other.project = ProjectID(rawValue: "other")!
                _ = try await scene.store.accept(other)
                let load = scene.store.load
                #expect(load.total == StoreLoad.Sum(messages: 2, bytes: 2 * bytes))
                #expect(load.byProject[scene.project] == StoreLoad.Sum(messages: 1, bytes: bytes))
                try await scene.crash()
                #expect(scene.store.load == load)
                let due = try await scene.claimDue(.interactive)
                try await scene.settle(due.filter { $0.project == scene.project }.map { $0.ended() })
                #expect(scene.store.load.byProject == [other.project: StoreLoad.Sum(messages: 1, bytes: bytes)])
            },
        ]
}
