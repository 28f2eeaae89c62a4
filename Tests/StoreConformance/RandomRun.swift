import PushModel
import Store
import TestSupport
import Testing

/// A seeded run of random steps, with the law checked after each: several workers whose leases run out, crashes, late
/// settlements, messages to topics, conditions, lists and single registrations that are paused and cancelled, routes
/// that are held, devices that come and go. At the end every promise is checked against a naive model: each message
/// through, each recipient once in the ledger, none left out that stayed, none reached that was not meant.
package struct RandomRun {
    /// One worker as the model sees it.
    private struct Claimant {
        var id: WorkerID
        var lease: Int64
        /// Claimed and not settled.
        var claimed: [ClaimedDelivery] = []
    }

    /// One message as the model sees it.
    private struct Sent {
        /// The topics that decide who gets it.
        var topics: Set<Topic> = []
        /// Whether its deliveries were made at accept.
        var isSingle = false
        /// Whether who changes a subscription may come in by that.
        var mayGrow = false
        /// Who was registered at accept.
        var registered: Set<RegistrationKey>
        /// Who could be reached.
        var allowed: Set<RegistrationKey>
        /// Who had to be reached.
        var awaited: Set<RegistrationKey>
        var isCancelled = false
    }

    private var scene: Scene
    private var random: SeededRandom
    private var now: Int64 = 1000
    private var registrations: [Registration] = []
    private var active: Set<RegistrationKey> = []
    private let topics = ["a", "b", "c"].map { Scene.topic($0) }
    private var workers: [Claimant] = []
    /// Settled before, to be settled again by mistake.
    private var settled: [Settlement] = []
    /// Claims of workers that were fenced.
    private var late: [ClaimedDelivery] = []
    /// Whom each shard claimed, whatever became of it.
    private var shards: [OpenFanOut.ID: (message: MessageID, keys: Set<RegistrationKey>)] = [:]
    /// Who subscribes to what now.
    private var subscribers: [Topic: Set<RegistrationKey>] = [:]
    private var sent: [MessageID: Sent] = [:]

    /// Prepares a run on an empty store.
    package init(subject: StoreSubject, seed: UInt64) async throws {
        scene = try await subject.makeScene()
        random = SeededRandom(seed: seed)
    }

    /// Takes `steps` random steps, then finishes all work and checks the end.
    ///
    /// - Parameter devices: registered at first; more than a hundred make large lists.
    package mutating func run(steps: Int, devices: Int = 12) async throws {
        for number in 0..<devices { try await register(number) }
        for name in ["one", "two", "three"] { workers.append(try await enroll(name)) }
        for number in 0..<steps {
            now += 10
            try await step()
            try await scene.checkLaw()
            // The recount of everything takes longer than the step.
            guard number.isMultiple(of: 5) else { continue }
            try await scene.check()
            try await checkShards()
        }
        try await finish()
    }

    private mutating func step() async throws {
        switch number(40) {
        case 0: try await register(registrations.count)
        case 1..<6: try await subscribe()
        case 6, 7: try await unsubscribe()
        case 8: try await end()
        case 9: try await move()
        case 10, 11: try await send()
        case 12..<15: try await broadcast()
        case 15, 16: try await sendToCondition()
        case 17: try await sendToList()
        case 18..<24: try await claimPage()
        case 24..<27: try await claimDue()
        case 27..<33: try await settle()
        case 33: try await settleAgain()
        case 34: try await renew()
        case 35: try await takeOver()
        case 36, 37: try await control()
        case 38: _ = try await scene.bookCancelled(1 + number(5), at: now)
        default: try await crash()
        }
    }

    private mutating func number(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }

    private func enroll(_ name: String) async throws -> Claimant {
        let lease = now + 400
        return Claimant(id: try await scene.enroll(name, until: lease), lease: lease)
    }

    // Devices.

    private mutating func register(_ number: Int) async throws {
        let request = scene.request(number, environment: number % 3 == 0 ? .sandbox : .production)
        let made = try await scene.store.register(request, at: Timestamp(milliseconds: now)).registration
        registrations.append(made)
        active.insert(made.key)
    }

    private mutating func subscribe() async throws {
        let topic = topics.randomElement(using: &random)!
        let keys = (0..<4).map { _ in registrations.randomElement(using: &random)!.key }
        let results = try await scene.store.subscribe(keys, to: topic, at: Timestamp(milliseconds: now))
        for (key, result) in zip(keys, results) where result != .notActive {
            if subscribers[topic, default: []].insert(key).inserted { changed(key, topic) }
        }
    }

    private mutating func unsubscribe() async throws {
        let topic = topics.randomElement(using: &random)!
        guard let key = subscribers[topic]?.sorted().randomElement(using: &random) else { return }
        #expect(try await scene.store.unsubscribe([key], from: topic) == [true])
        subscribers[topic]?.remove(key)
        changed(key, topic)
    }

    /// A subscription came or went: messages that it decides about may find the device or not.
    private mutating func changed(_ key: RegistrationKey, _ topic: Topic) {
        for (id, message) in sent where message.topics.contains(topic) {
            sent[id]?.awaited.remove(key)
            if message.mayGrow, message.registered.contains(key) { sent[id]?.allowed.insert(key) }
        }
    }

    private mutating func end() async throws {
        let key = registrations.randomElement(using: &random)!.key
        try await scene.store.end(key, RegistrationEnd(time: Timestamp(milliseconds: now), cause: .deleted))
        forget(key)
    }

    private mutating func forget(_ key: RegistrationKey) {
        active.remove(key)
        for topic in topics { subscribers[topic]?.remove(key) }
        for (id, message) in sent where !message.isSingle { sent[id]?.awaited.remove(key) }
    }

    /// Moves a registration to another route.
    private mutating func move() async throws {
        let key = registrations.randomElement(using: &random)!.key
        let environment = PushEnvironment.allCases.randomElement(using: &random)!
        _ = try await scene.store.change(
            key, RegistrationChange(address: .environment(environment)), at: Timestamp(milliseconds: now))
    }

    // Messages.

    private mutating func send() async throws {
        let registration = registrations.randomElement(using: &random)!
        let worker = number(workers.count)
        let new = try scene.newMessage(.registration(registration.key), at: now)
        let id = Bool.random(using: &random) ? workers[worker].id : nil
        guard case .accepted(let message, let claims)? = try await scene.store.accept([new], claimedBy: id).first else {
            Issue.record("not accepted")
            return
        }
        scene.note(message)
        #expect(claims.count == (id == nil ? 0 : 1))
        workers[worker].claimed += claims
        note(message, [registration.key], [registration.key], isSingle: true)
    }

    private mutating func broadcast() async throws {
        let topic = topics.randomElement(using: &random)!
        let audience = subscribers[topic] ?? []
        let message = try await scene.broadcast(topic, at: now)
        #expect(message.recipient == .topic(topic) && message.audience == audience.count)
        note(message, audience, audience, topics: [topic])
    }

    private mutating func sendToCondition() async throws {
        let condition = Scene.condition(expression(depth: 3))
        let audience = active.filter { key in
            condition.holds { subscribers[$0]?.contains(key) ?? false }
        }
        let exact = try await scene.store.audience(of: .condition(condition), in: scene.project)
        #expect(exact == audience.count)
        #expect(try await scene.store.audienceBound(of: .condition(condition), in: scene.project) >= exact)
        let message = try await scene.send(.condition(condition), at: now)
        #expect(message.audience >= audience.count)
        note(message, audience, audience, topics: Set(condition.topics), mayGrow: true)
    }

    private mutating func expression(depth: Int) -> Condition.Expression {
        switch depth == 0 ? 0 : number(5) {
        case 1: .not(expression(depth: depth - 1))
        case 2: .all(expression(depth: depth - 1), expression(depth: depth - 1))
        case 3: .any(expression(depth: depth - 1), expression(depth: depth - 1))
        default: .subscribed(topics.randomElement(using: &random)!)
        }
    }

    private mutating func sendToList() async throws {
        let keys = registrations.map(\.key).filter { _ in number(10) > 0 }
        let message = try await scene.send(.list(keys), at: now)
        #expect(message.recipient == .list(keys.count))
        let isSingle = keys.count <= NewMessage.smallListLimit
        note(message, Set(keys), isSingle ? Set(keys) : active.intersection(keys), isSingle: isSingle)
    }

    private mutating func note(
        _ message: Message, _ allowed: Set<RegistrationKey>, _ awaited: Set<RegistrationKey>,
        topics: Set<Topic> = [], isSingle: Bool = false, mayGrow: Bool = false
    ) {
        sent[message.id] = Sent(
            topics: topics, isSingle: isSingle, mayGrow: mayGrow, registered: Set(registrations.map(\.key)),
            allowed: allowed, awaited: awaited)
    }

    private mutating func control() async throws {
        guard let id = scene.sent.suffix(20).randomElement(using: &random) else { return }
        let control = number(4) == 0 ? MessageControl.cancel : [.pause, .resume].randomElement(using: &random)!
        let state = try await scene.store.control(
            id, in: scene.project, control, at: Timestamp(milliseconds: now), by: .gateway)
        if state == .cancelled { sent[id]?.isCancelled = true }
        #expect((state == .cancelled) == sent[id]?.isCancelled)
    }

    // Work.

    private mutating func claimPage() async throws {
        guard let shard = try await scene.openFanOuts().randomElement(using: &random) else { return }
        let worker = number(workers.count)
        let held = Set(PushEnvironment.allCases.filter { _ in number(4) == 0 }.map(scene.route))
        let limit = 1 + number(5)
        let claim = try await scene.store.claimPage(
            of: shard.id, limit: limit, held: held, by: workers[worker].id, at: Timestamp(milliseconds: now))
        workers[worker].claimed += claim.page?.deliveries ?? []
        for delivery in claim.page?.deliveries ?? [] {
            shards[shard.id, default: (delivery.message, [])].keys.insert(delivery.registration.key)
        }
    }

    /// The law of each shard: what it says that it claimed is whom it gave to workers, each key in one shard only, and
    /// each of them has either ended or is in flight. What a cancelled message has left is booked without being claimed.
    private func checkShards() async throws {
        guard let claimed = try await scene.claimedByShard() else { return }
        let ids = Dictionary(uniqueKeysWithValues: registrations.map { ($0.id, $0.key) })
        for (message, parts) in Dictionary(grouping: shards, by: \.value.message)
        where sent[message]?.isCancelled == false {
            var ended: Set<RegistrationKey> = []
            var cursor: String?
            repeat {
                let page = try await scene.store.deliveries(
                    of: message, in: scene.project, outcome: nil, after: cursor, limit: 100)
                ended.formUnion(page.elements.filter { $0.outcome != nil }.compactMap { ids[$0.registration] })
                cursor = page.nextCursor
            } while cursor != nil
            let keys = parts.map(\.value.keys)
            #expect(
                keys.reduce(0) { $0 + $1.count } == keys.reduce(into: Set<RegistrationKey>()) { $0.formUnion($1) }.count
            )
            let inFlight = try await scene.store.report(message, in: scene.project)?.inFlight
            var open = 0
            for (id, shard) in parts.map({ ($0.key, $0.value) }) {
                let settled = shard.keys.intersection(ended).count
                open += shard.keys.count - settled
                #expect(claimed[id] == shard.keys.count, "shard \(id.shard) of \(message)")
            }
            #expect(open == inFlight, "\(message)")
        }
    }

    private mutating func claimDue() async throws {
        let lane = Lane.allCases.randomElement(using: &random)!
        let worker = number(workers.count)
        workers[worker].claimed += try await scene.claimDue(
            lane, at: now, limit: 1 + number(5), by: workers[worker].id)
    }

    private mutating func settle() async throws {
        let worker = number(workers.count)
        workers[worker].claimed.shuffle(using: &random)
        var batch: [Settlement] = []
        for _ in 0..<min(workers[worker].claimed.count, 1 + number(6)) {
            batch.append(settlement(of: workers[worker].claimed.removeLast(), mayRetry: true))
        }
        try await scene.settle(batch, by: workers[worker].id)
        settled += batch
    }

    private mutating func settlement(of delivery: ClaimedDelivery, mayRetry: Bool) -> Settlement {
        switch number(8) {
        case 0 where mayRetry, 1 where mayRetry: return delivery.retried(at: now + Int64(number(100)))
        case 2: return delivery.ended(.expired, reason: "late", at: now)
        case 3:
            forget(delivery.registration.key)
            return delivery.ended(
                .rejected, reason: "Unregistered", verdict: .dead(since: Timestamp(milliseconds: now)), at: now)
        default: return delivery.ended(at: now, latency: Int64(number(5000)))
        }
    }

    /// Repeats an old settlement, or makes one of a worker that was fenced, under a name that is good. It must change
    /// nothing, unless the same delivery is claimed again by now.
    private mutating func settleAgain() async throws {
        let old = Bool.random(using: &random) ? late.randomElement(using: &random)?.ended(at: now) : nil
        guard let old = old ?? settled.randomElement(using: &random) else { return }
        let isOpen = workers.flatMap(\.claimed).contains {
            $0.message == old.delivery.message && $0.registration.key == old.delivery.registration.key
        }
        guard !isOpen else { return }
        let before = try await scene.store.report(old.delivery.message, in: scene.project)
        try await scene.settle([old], by: workers[number(workers.count)].id)
        let after = try await scene.store.report(old.delivery.message, in: scene.project)
        #expect(before?.ended == after?.ended && before?.inFlight == after?.inFlight)
    }

    private mutating func renew() async throws {
        for index in workers.indices where number(2) == 0 {
            workers[index].lease = max(workers[index].lease, now + 400)
            try await scene.renew(workers[index].id, until: now + 400)
        }
    }

    /// Ends workers whose leases ran out; each notices with its next call and enrols anew.
    private mutating func takeOver() async throws {
        let lapsed = workers.indices.filter { workers[$0].lease < now }
        let open = lapsed.reduce(0) { $0 + workers[$1].claimed.count }
        #expect(try await scene.rescue(at: now) == open)
        for index in lapsed {
            let (id, claimed) = (workers[index].id, workers[index].claimed)
            let store = scene.store
            try await expectStoreError(.fenced) { try await store.renew(id, for: .milliseconds(400)) }
            if let first = claimed.first {
                try await expectStoreError(.fenced) { _ = try await store.settle([first.ended(at: 1)], by: id) }
            }
            late += claimed
            workers[index] = try await enroll("again")
        }
    }

    private mutating func crash() async throws {
        let open = workers.reduce(0) { $0 + $1.claimed.count }
        late += workers.flatMap(\.claimed)
        try await scene.crash()
        #expect(try await scene.rescue(at: now) == open)
        for index in workers.indices { workers[index] = try await enroll("after a crash") }
    }

    // The end.

    private mutating func finish() async throws {
        now += 1000
        for id in scene.sent {
            _ = try await scene.store.control(
                id, in: scene.project, .resume, at: Timestamp(milliseconds: now), by: .gateway)
        }
        var claimed = workers.flatMap { worker in worker.claimed.map { (worker.id, $0) } }
        while true {
            for lane in Lane.allCases {
                claimed += try await scene.claimDue(lane, at: now).map { (scene.worker, $0) }
            }
            while let page = try await scene.claimPage(7, at: now) {
                claimed += page.deliveries.map { (scene.worker, $0) }
            }
            while try await scene.bookCancelled(7, at: now) == 7 {}
            guard !claimed.isEmpty else { break }
            for (worker, delivery) in claimed {
                try await scene.settle([settlement(of: delivery, mayRetry: false)], by: worker)
            }
            claimed = []
        }
        try await scene.check()
        #expect(scene.store.load == StoreLoad())
        #expect(try await scene.store.backlog() == [.interactive: 0, .bulk: 0])
        let all = Timestamp(milliseconds: 0)..<Timestamp(milliseconds: now + 1)
        let rows = Dictionary(grouping: try await scene.export(all, limit: 50), by: \.message)
        let keys = Dictionary(uniqueKeysWithValues: registrations.map { ($0.id, $0.key) })
        for (id, message) in sent { try await checkEnd(of: id, message, rows[id] ?? [], keys) }
    }

    private func checkEnd(
        of id: MessageID, _ message: Sent, _ rows: [ExportRow], _ keys: [RegistrationID: RegistrationKey]
    ) async throws {
        let report = try #require(try await scene.store.report(id, in: scene.project))
        let reached = rows.compactMap { keys[$0.delivery.registration] }
        #expect(report.state == (message.isCancelled ? .cancelled : .complete))
        #expect(report.inFlight == 0 && report.completedAt != nil)
        #expect(reached.count == rows.count && Set(reached).count == rows.count, "each recipient once")
        #expect(report.recipients == rows.count)
        #expect(Set(reached).isSubset(of: message.allowed), "none that was not meant")
        #expect(Set(reached).isSuperset(of: message.awaited), "everybody who stayed")
        #expect(message.isCancelled || report.ended[.cancelled] == 0)
    }
}
