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
            let slow = try await store.enroll("slow", until: Timestamp(milliseconds: 3000))
            let page = try #require(try await scene.claimPage(by: slow))
            let due = try await scene.claimDue(.interactive, by: slow)
            try await scene.settle([page.deliveries[0].ended()], by: slow)
            // Its lease is over, but nobody took over yet.
            try await store.renew(slow, until: Timestamp(milliseconds: 4000))
            #expect(try await scene.rescue(at: 3500) == 0)
            try await scene.settle([page.deliveries[1].ended()], by: slow)
            #expect(try await scene.rescue(at: 4001) == 3)
            try await scene.check()
            let route = scene.route(.production)
            let shard = try #require(try await scene.openFanOuts().first).id
            try await expectStoreError(.fenced) { try await store.renew(slow, until: Timestamp(milliseconds: 9000)) }
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
            let other = try await scene.store.enroll("other", until: Scene.lease)
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
            let new = try scene.newMessage(.registration(made.key, made.id), at: 1000)
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
                [try scene.newMessage(.registration(made.key, made.id), at: 1001)], claimedBy: scene.worker)
            guard case .accepted(_, let claimed)? = late.first else {
                Issue.record("\(late)")
                return
            }
            #expect(claimed.map(\.registration.isActive) == [false])
            // Neither what is not urgent nor for a worker that is gone.
            var slow = try scene.newMessage(.registration(made.key, made.id), at: 1002)
            slow.lane = .bulk
            let other = try await store.enroll("gone", until: Timestamp(milliseconds: 10))
            _ = try await scene.rescue()
            let urgent = try scene.newMessage(.registration(made.key, made.id), at: 1003)
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

    static let idempotency: [ConformanceCase] = [
        ConformanceCase("what is known of keys is read in their order, and ends with their lifetime") { scene in
            let registration = try await scene.register(1)
            func key(_ name: String, _ digest: UInt8) -> IdempotencyKey {
                IdempotencyKey(key: name, digest: Array(repeating: digest, count: 32))
            }
            var new = try scene.newMessage(.registration(registration.key, registration.id), at: 1000)
            new.idempotency = key("a", 1)
            let message = try await scene.send(new)
            let keys = [key("b", 1), key("a", 1), key("a", 2)]
            let (store, project) = (scene.store, scene.project)
            let end = 1000 + IdempotencyKey.lifetime.wholeMilliseconds
            let uses = try await store.uses(of: keys, in: project, at: Timestamp(milliseconds: end))
            #expect(uses == [.unused, .same(message.id), .other])
            let later = try await store.uses(of: keys, in: project, at: Timestamp(milliseconds: end + 1))
            #expect(later == [.unused, .unused, .unused])
            let other = try #require(ProjectID(rawValue: "other"))
            let foreign = try await store.uses(of: keys, in: other, at: Timestamp(milliseconds: end))
            #expect(foreign == [.unused, .unused, .unused])
        },
        ConformanceCase("the same key and body is the same message, another body a conflict, for a day") { scene in
            let made = try await scene.register(1)
            let store = scene.store
            func message(_ key: String, _ digest: UInt8, at time: Int64) throws -> NewMessage {
                var message = try scene.newMessage(.registration(made.key, made.id), at: time)
                message.idempotency = IdempotencyKey(key: key, digest: Array(repeating: digest, count: 32))
                return message
            }
            let first = try message("a", 1, at: 1000)
            let results = try await store.accept(
                [first, try message("a", 1, at: 1000), try message("a", 2, at: 1000), try message("b", 1, at: 1000)],
                claimedBy: nil)
            #expect(results.map(\.kind) == ["accepted", "repeated \(first.id)", "conflict", "accepted"])
            try await scene.crash()
            let again = try await scene.store.accept(
                [try message("a", 1, at: 1001), try message("a", 2, at: 1001)], claimedBy: scene.worker)
            #expect(again.map(\.kind) == ["repeated \(first.id)", "conflict"])
            var foreign = try message("a", 1, at: 1000)
            foreign.project = ProjectID(rawValue: "other")!
            #expect(try await scene.store.accept([foreign], claimedBy: nil).map(\.kind) == ["accepted"])
            #expect(try await scene.claimDue(.interactive).count == 3)

            // Whether forgotten or not, a key counts for a day.
            let day = IdempotencyKey.lifetime.wholeMilliseconds
            let late = try message("a", 2, at: 1000 + day + 1)
            #expect(
                try await scene.store.accept([try message("a", 2, at: 1000 + day), late], claimedBy: nil).map(\.kind)
                    == ["conflict", "accepted"])
            func forget(_ time: Int64, _ limit: Int = 10) async throws -> Int {
                try await scene.store.forgetIdempotencyKeys(before: Timestamp(milliseconds: time), limit: limit)
            }
            #expect(try await forget(1000) == 0)
            #expect(try await forget(1001, 1) == 1)
            #expect(try await forget(1001) == 1)
            let next = try message("b", 2, at: 1000)
            #expect(try await scene.store.accept([next], claimedBy: nil).map(\.kind) == ["accepted"])
        },
        ConformanceCase("of requests with one key that race, one is accepted") { scene in
            let made = try await scene.register(1)
            let messages = try (0..<40).map { number in
                var message = try scene.newMessage(.registration(made.key, made.id), at: 1000)
                message.idempotency = IdempotencyKey(
                    key: "k\(number % 4)", digest: Array(repeating: UInt8(number % 8 / 4), count: 32))
                return message
            }
            let results = try await withThrowingTaskGroup(of: (Int, AcceptResult).self) { [store = scene.store] group in
                for (number, message) in messages.enumerated() {
                    group.addTask { (number, try await store.accept([message], claimedBy: nil)[0]) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for key in 0..<4 {
                let mine = (0..<40).filter { $0 % 4 == key }
                let winners = mine.filter { results[$0]?.kind == "accepted" }
                #expect(winners.count == 1)
                guard let winner = winners.first else { continue }
                for number in mine where number != winner {
                    let isSame = number % 8 / 4 == winner % 8 / 4
                    #expect(results[number]?.kind == (isSame ? "repeated \(messages[winner].id)" : "conflict"))
                }
            }
            #expect(scene.store.load.total.messages == 4)
        },
        ConformanceCase("a batch is accepted as a whole or not at all") { scene in
            let made = try await scene.register(1)
            let good = try scene.newMessage(.registration(made.key, made.id), at: 1000)
            let bad = try scene.newMessage(.list([made.key, made.key]), at: 1000)
            let store = scene.store
            try await expectStoreError(.failed) { _ = try await store.accept([good, bad], claimedBy: nil) }
            #expect(scene.store.load == StoreLoad())
            #expect(try await scene.claimDue(.interactive).isEmpty)
        },
        ConformanceCase("the load counts messages and their bytes, in total and by project") { scene in
            let made = try await scene.register(1)
            let first = try await scene.send(to: made)
            let bytes = first.content.source.bytes.count
            var other = try scene.newMessage(.registration(made.key, made.id), at: 1000)
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

extension AcceptResult {
    /// The result in words.
    fileprivate var kind: String {
        switch self {
        case .accepted: "accepted"
        case .repeated(let id): "repeated \(id)"
        case .conflict: "conflict"
        case .noRegistration: "no registration"
        }
    }
}
