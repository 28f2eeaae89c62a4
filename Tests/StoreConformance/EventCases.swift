import PushModel
import Store
import Testing

extension Scene {
    /// All events after a number, read in pages.
    func events(
        after number: EventNumber = .zero, _ filter: EventFilter = EventFilter(), limit: Int = 1000
    ) async throws -> [Event] {
        var (last, events): (EventNumber, [Event]) = (number, [])
        while true {
            let page = try await store.events(after: last, filter, limit: limit)
            #expect(page.events.count <= limit && page.last >= last)
            events += page.events
            if page.isAtEnd { return events }
            last = page.last
        }
    }

    /// Checks the events of everything that was sent: numbers without a hole, each delivery that ended once with what the
    /// ledger says of it, each message accepted once and complete once. Nothing after a purge.
    func checkEvents() async throws {
        let page = try await store.events(after: .zero, EventFilter(), limit: 1)
        guard page.forgotten == .zero else { return }
        let events = try await events()
        #expect(events.map(\.number.rawValue) == events.indices.map { Int64($0 + 1) })
        var ended: [MessageID: [RegistrationID: LedgerOutcome]] = [:]
        var changes: [MessageID: [MessageChange]] = [:]
        for event in events {
            switch event.kind {
            case .delivery(let delivery):
                let before = ended[delivery.message, default: [:]].updateValue(
                    try #require(delivery.delivery.outcome), forKey: delivery.delivery.registration)
                #expect(before == nil, "a delivery ended twice")
                #expect(changes[delivery.message]?.first == .accepted && changes[delivery.message]?.last != .complete)
            case .message(let id, let change): changes[id, default: []].append(change)
            case .receipt, .registrationEnded, .route, .webhook, .click, .referral, .forgotten: break
            }
        }
        for id in sent {
            let report = try #require(try await store.report(id, in: project))
            let counts = Dictionary(grouping: ended[id]?.values.map(\.self) ?? [], by: \.self).mapValues(\.count)
            #expect(counts == report.ended.filter { $0.value > 0 }, "\(id)")
            #expect(changes[id]?.count { $0 == .accepted } == 1)
            #expect(changes[id]?.count { $0 == .complete } == (report.completedAt == nil ? 0 : 1), "\(id)")
        }
    }

    fileprivate func changes(of message: Message) async throws -> [MessageChange] {
        try await events().compactMap { event in
            guard case .message(message.id, let change) = event.kind else { return nil }
            return change
        }
    }

    fileprivate func deliveries(_ filter: EventFilter = EventFilter(), limit: Int = 1000) async throws
        -> [DeliveryEvent]
    {
        try await events(filter, limit: limit).compactMap { event in
            if case .delivery(let delivery) = event.kind { delivery } else { nil }
        }
    }

    fileprivate func notices() async throws -> [RouteNotice] {
        try await events(EventFilter(project: project, isOnlyFailures: true), limit: 10).compactMap { event in
            if case .route(let notice) = event.kind { notice } else { nil }
        }
    }

    fileprivate func ends() async throws -> [EndedRegistration] {
        try await events().compactMap { event in
            if case .registrationEnded(let ended) = event.kind { ended } else { nil }
        }
    }

    fileprivate func events(_ filter: EventFilter, limit: Int) async throws -> [Event] {
        try await events(after: .zero, filter, limit: limit)
    }

    /// Sends to a topic of `count` and settles all, every third as rejected.
    fileprivate mutating func broadcastWithRejects(to count: Int, _ name: String = "news") async throws -> Message {
        let topic = Scene.topic(name)
        _ = try await audience(count, of: topic)
        let message = try await broadcast(topic)
        let page = try #require(try await claimPage())
        try await settle(
            page.deliveries.enumerated().map { index, delivery in
                index % 3 == 0 ? delivery.ended(.rejected, reason: "BadDeviceToken") : delivery.ended()
            })
        return message
    }
}

/// Waits until what waits of a project has changed.
private func untilProjectsChange(_ changes: inout StoreChanges.AsyncIterator) async throws {
    while !(try #require(await changes.next())).contains(.projects) {}
}

private let anna = CredentialUse(id: "k9", name: "Anna", role: .admin, address: nil)

extension ConformanceCase {
    static let events: [ConformanceCase] = [
        ConformanceCase("events are numbered in the order of commit, each delivery once, as the ledger has it") {
            scene in
            let message = try await scene.broadcastWithRejects(to: 7)
            let events = try await scene.events()
            #expect(events.map(\.number.rawValue) == (1...9).map(Int64.init))
            #expect(events.allSatisfy { $0.project == scene.project })
            #expect(try await scene.changes(of: message) == [.accepted, .complete])
            let deliveries = try await scene.deliveries()
            let recorded = try await scene.store.deliveries(
                of: message.id, in: scene.project, outcome: nil, after: nil, limit: 100
            ).elements
            #expect(deliveries.map(\.delivery.registration) == recorded.map(\.registration))
            #expect(deliveries.map(\.delivery.reason) == recorded.map(\.reason))
            #expect(deliveries.map(\.delivery.history) == recorded.map(\.history))
            #expect(deliveries.map(\.delivery.endedAt) == recorded.map(\.endedAt))
            #expect(deliveries.allSatisfy { $0.message == message.id && $0.topic == Scene.topic("news") })
            #expect(deliveries.allSatisfy { $0.label == AnalyticsLabel(rawValue: "spring") })
            #expect(deliveries.count { $0.delivery.outcome == .rejected } == 3)
        },
        ConformanceCase("pages of any size hold the same events, also from the middle of a step") { scene in
            _ = try await scene.broadcastWithRejects(to: 10)
            let all = try await scene.events().map(\.number)
            for limit in [1, 2, 3, 7, 11] { #expect(try await scene.events(limit: limit).map(\.number) == all) }
            for number in all {
                #expect(try await scene.events(after: number).first?.number == all.first { $0 > number })
            }
            let page = try await scene.store.events(after: try #require(all.last), EventFilter(), limit: 5)
            #expect(page.events.isEmpty && page.isAtEnd && page.last == all.last && page.newest == all.last)
        },
        ConformanceCase("a filter of failures keeps what was not accepted and registrations that are dead") { scene in
            let message = try await scene.broadcastWithRejects(to: 5)
            let device = try await scene.register(50)
            _ = try await scene.send(to: device, at: 1000)
            let claims = try await scene.claimDue(.interactive)
            let since = Timestamp(milliseconds: 2500)
            try await scene.settle(
                claims.map { $0.ended(.rejected, reason: "Unregistered", verdict: .dead(since: since)) })
            let failures = EventFilter(project: scene.project, isOnlyFailures: true)
            let deliveries = try await scene.deliveries(failures)
            #expect(deliveries.map(\.delivery.reason) == ["BadDeviceToken", "BadDeviceToken", "Unregistered"])
            #expect(deliveries.prefix(2).allSatisfy { $0.message == message.id })
            for limit in [1, 2] { #expect(try await scene.deliveries(failures, limit: limit).count == 3) }
            #expect(try await scene.events(failures, limit: 1000).count == 4)
            #expect(
                try await scene.ends() == [
                    EndedRegistration(registration: device.id, app: AppKey(.apple, scene.app), cause: .unregistered)
                ])
        },
        ConformanceCase("events of other projects are left out, and reading goes on behind them") { scene in
            _ = try await scene.broadcastWithRejects(to: 4)
            let other = EventFilter(project: ProjectID(rawValue: "other")!)
            let page = try await scene.store.events(after: .zero, other, limit: 10)
            #expect(page.events.isEmpty && page.isAtEnd)
            #expect(try await scene.events().last?.number == page.last)
            let own = EventFilter(project: scene.project)
            #expect(try await scene.events(own, limit: 3).count == 6)
        },
        ConformanceCase("what an operator does to a message is an event, and so is its end") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let time = Timestamp(milliseconds: 2000)
            for control in [MessageControl.pause, .pause, .resume, .cancel, .cancel] {
                _ = try await scene.store.control(message.id, in: scene.project, control, at: time, by: anna)
            }
            #expect(try await scene.changes(of: message) == [.accepted, .paused, .resumed, .cancelled])
            _ = try await scene.store.bookCancelled(limit: 100, at: time)
            #expect(try await scene.changes(of: message) == [.accepted, .paused, .resumed, .cancelled, .complete])
            #expect(try await scene.deliveries().map(\.delivery.outcome) == [.cancelled, .cancelled, .cancelled])
        },
        ConformanceCase("a message without recipients is accepted and complete") { scene in
            let message = try await scene.broadcast(Scene.topic("empty"))
            #expect(try await scene.changes(of: message) == [.accepted, .complete])
        },
        ConformanceCase("the end of a registration says why, and what took its place") { scene in
            let (first, second, third) = (
                try await scene.register(1), try await scene.register(2), try await scene.register(3)
            )
            try await scene.store.end(
                first.key, RegistrationEnd(time: Timestamp(milliseconds: 10), cause: .deleted))
            try await scene.store.end(
                first.key, RegistrationEnd(time: Timestamp(milliseconds: 11), cause: .deleted))
            _ = try await scene.store.change(
                third.key, RegistrationChange(address: .address(second.address)), at: Timestamp(milliseconds: 20))
            #expect(
                try await scene.ends() == [
                    EndedRegistration(registration: first.id, app: AppKey(.apple, scene.app), cause: .deleted),
                    EndedRegistration(
                        registration: second.id, app: AppKey(.apple, scene.app), cause: .replaced,
                        replacement: third.id),
                ])
        },
        ConformanceCase("a step that fails leaves no event, and one that is committed survives the process") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            let (store, before) = (scene.store, try await scene.events().count)
            let stranger = WorkerID(rawValue: 1 << 40)
            try await expectStoreError(.fenced) {
                _ = try await store.settle(page.deliveries.map { $0.ended() }, by: stranger)
            }
            #expect(try await scene.events().count == before)
            let settlements = page.deliveries.map { $0.ended() }
            try await scene.settle(settlements)
            // What is not claimed any more changes nothing.
            try await scene.settle(settlements)
            let numbers = try await scene.events().map(\.number)
            #expect(numbers.count == before + 3)
            try await scene.crash()
            #expect(try await scene.events().map(\.number) == numbers)
            _ = try await scene.broadcast(Scene.topic("empty"))
            #expect(try await scene.events().map(\.number.rawValue) == (1...Int64(numbers.count + 2)).map(\.self))
        },
        ConformanceCase("old events are forgotten in steps, and a page says up to where") { scene in
            _ = try await scene.broadcastWithRejects(to: 4)
            _ = try await scene.broadcast(Scene.topic("empty"), at: 9_000_000)
            let all = try await scene.events().map(\.number)
            let (store, time) = (scene.store, Timestamp(milliseconds: 9_000_000))
            #expect(try await store.lastEvent(before: time).rawValue == 6)
            #expect(try await store.lastEvent(before: Timestamp(milliseconds: 0)) == .zero)
            #expect(try await store.lastEvent(before: time + .seconds(1)) == all.last)
            #expect(try await store.forgetEvents(before: time, limit: 1) == 1)
            #expect(try await store.events(after: .zero, EventFilter(), limit: 100).forgotten.rawValue == 1)
            #expect(try await store.forgetEvents(before: time, limit: 100) == 1)
            let page = try await store.events(after: .zero, EventFilter(), limit: 100)
            #expect(page.forgotten.rawValue == 6 && page.events.map(\.number.rawValue) == [7, 8])
            #expect(try await store.forgetEvents(before: time, limit: 100) == 0)
            // When all are gone, numbers go on.
            #expect(try await store.forgetEvents(before: time + .seconds(1), limit: 100) == 2)
            let none = try await store.events(after: .zero, EventFilter(), limit: 100)
            #expect(none.forgotten.rawValue == 8 && none.newest.rawValue == 8 && none.isAtEnd)
            try await scene.crash()
            _ = try await scene.broadcast(Scene.topic("empty"), at: 9_000_000)
            #expect(try await scene.events(after: none.newest).map(\.number.rawValue) == [9, 10])
        },
        ConformanceCase("a route that is paused and goes on is two events") { scene in
            _ = try await scene.send(to: try await scene.register(1))
            let (store, time) = (scene.store, Timestamp(milliseconds: 2000))
            let route = try #require(try await store.dueRoutes(.interactive, at: time).routes.first)
            let worker = scene.worker
            for isPaused in [true, true, false, false] {
                try await store.note([RouteNotice(route, isPaused: isPaused)], by: worker, at: time)
            }
            #expect(
                try await scene.notices() == [RouteNotice(route, isPaused: true), RouteNotice(route, isPaused: false)])
        },
        ConformanceCase("a route that a process pauses when it is lost goes on when it is taken over from") { scene in
            _ = try await scene.send(to: try await scene.register(1))
            let time = Timestamp(milliseconds: 2000)
            let route = try #require(try await scene.store.dueRoutes(.interactive, at: time).routes.first)
            let (paused, resumed) = (RouteNotice(route, isPaused: true), RouteNotice(route, isPaused: false))
            try await scene.store.note([paused], by: scene.worker, at: time)
            let former = scene.worker
            try await scene.crash()
            #expect(try await scene.notices() == [paused])
            _ = try await scene.rescue(at: 5000)
            #expect(try await scene.notices() == [paused, resumed])
            let store = scene.store
            try await expectStoreError(.fenced) { try await store.note([resumed], by: former, at: time) }
            try await store.note([paused], by: scene.worker, at: time)
            _ = try await scene.store.takeOver(at: Timestamp(milliseconds: 5001))
            #expect(try await scene.notices() == [paused, resumed, paused])
        },
        ConformanceCase("a route is paused as long as one of two workers pauses it") { scene in
            _ = try await scene.send(to: try await scene.register(1))
            let (store, time) = (scene.store, Timestamp(milliseconds: 2000))
            _ = try await scene.rescue()
            let route = try #require(try await store.dueRoutes(.interactive, at: time).routes.first)
            let (paused, resumed) = (RouteNotice(route, isPaused: true), RouteNotice(route, isPaused: false))
            let other = try await scene.enroll("other", until: 9000)
            try await store.note([paused], by: other, at: time)
            try await store.note([paused], by: scene.worker, at: time)
            try await store.note([resumed], by: scene.worker, at: time)
            #expect(try await scene.notices() == [paused])
            _ = try await scene.rescue(at: 9001)
            #expect(try await scene.notices() == [paused, resumed])
        },
        ConformanceCase("changes tell of events after the commit, merged for who reads late") { scene in
            var changes = scene.store.changes.makeAsyncIterator()
            _ = try await scene.broadcast(Scene.topic("empty"))
            _ = try await scene.send(to: try await scene.register(1))
            var told: StoreChange = []
            while !told.isSuperset(of: [.events, .interactiveWork, .bulkWork]) {
                told.formUnion(try #require(await changes.next()))
            }
            #expect(!told.contains(.control))
        },
        ConformanceCase("changes tell when what waits of a project changes, and the load shows it") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            var changes = scene.store.changes.makeAsyncIterator()
            _ = try await scene.broadcast(topic)
            try await untilProjectsChange(&changes)
            #expect(scene.store.load.byProject[scene.project]?.messages == 1)
            let page = try #require(try await scene.claimPage())
            var half = scene.store.changes.makeAsyncIterator()
            try await scene.settle([page.deliveries[0].ended()])
            #expect(await half.next()?.contains(.projects) == false)
            try await scene.settle([page.deliveries[1].ended()])
            try await untilProjectsChange(&changes)
            #expect(scene.store.load.total.messages == 0)
        },
    ]
}
