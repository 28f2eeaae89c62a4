import PushModel
import Store
import Testing

/// A seeded run of random steps, crashes among them, with the law checked after each, and at the end every promise:
/// each message complete, each recipient once in the ledger, nobody left out who stayed.
public struct RandomRun {
    private var scene: Scene
    private var random: SplitMix64
    private var now: Int64 = 1000
    private var registrations: [Registration] = []
    private let topics = ["a", "b", "c"].map { Scene.topic($0) }
    /// Claimed and not settled.
    private var claimed: [ClaimedDelivery] = []
    /// Settled before, to be settled again by mistake.
    private var settled: [Settlement] = []
    /// Who subscribes to what now.
    private var subscribers: [Topic: Set<RegistrationKey>] = [:]
    /// Who had to be reached by a broadcast and stayed.
    private var awaited: [MessageID: Set<RegistrationKey>] = [:]
    /// Who could be reached by a message.
    private var allowed: [MessageID: Set<RegistrationKey>] = [:]

    /// Prepares a run on an empty store.
    public init(subject: StoreSubject, seed: UInt64) throws {
        scene = try subject.makeScene()
        random = SplitMix64(state: seed)
    }

    /// Takes `steps` random steps, then finishes all work and checks the end.
    public mutating func run(steps: Int) async throws {
        for number in 0..<12 { try await register(number) }
        for _ in 0..<steps {
            now += 10
            try await step()
            try await scene.check()
        }
        try await finish()
    }

    private mutating func step() async throws {
        switch Int.random(in: 0..<24, using: &random) {
        case 0: try await register(registrations.count)
        case 1..<5: try await subscribe()
        case 5: try await unsubscribe()
        case 6: try await end()
        case 7, 8: try await send()
        case 9..<12: try await broadcast()
        case 12..<15: try await claimPage()
        case 15..<17: try await claimDue()
        case 17..<22: try await settle()
        case 22: try await settleAgain()
        default: try await crash()
        }
    }

    private mutating func register(_ number: Int) async throws {
        registrations.append(try await scene.register(number, at: now))
    }

    private mutating func subscribe() async throws {
        let topic = topics.randomElement(using: &random)!
        let key = registrations.randomElement(using: &random)!.key
        let result = try await scene.store.subscribe([key], to: topic, at: Timestamp(milliseconds: now))
        if result != [.notActive] { subscribers[topic, default: []].insert(key) }
    }

    private mutating func unsubscribe() async throws {
        let topic = topics.randomElement(using: &random)!
        guard let key = subscribers[topic]?.randomElement(using: &random) else { return }
        #expect(try await scene.store.unsubscribe([key], from: topic) == [true])
        subscribers[topic]?.remove(key)
        for message in awaited.keys { awaited[message]?.remove(key) }
    }

    private mutating func end() async throws {
        let key = registrations.randomElement(using: &random)!.key
        try await scene.store.end(key, RegistrationEnd(time: Timestamp(milliseconds: now), cause: .deleted))
        forget(key)
    }

    private mutating func forget(_ key: RegistrationKey) {
        for topic in topics { subscribers[topic]?.remove(key) }
        for message in awaited.keys { awaited[message]?.remove(key) }
    }

    private mutating func send() async throws {
        let registration = registrations.randomElement(using: &random)!
        let message = try await scene.send(to: registration, at: now)
        allowed[message.id] = [registration.key]
    }

    private mutating func broadcast() async throws {
        let topic = topics.randomElement(using: &random)!
        let message = try await scene.broadcast(topic, at: now)
        let audience = subscribers[topic] ?? []
        #expect(message.recipient == .topic(topic, audience: audience.count))
        awaited[message.id] = audience
        allowed[message.id] = audience
    }

    private mutating func claimPage() async throws {
        let page = try await scene.claimPage(Int.random(in: 1..<5, using: &random), at: now)
        claimed += page?.deliveries ?? []
    }

    private mutating func claimDue() async throws {
        let lane = Lane.allCases.randomElement(using: &random)!
        claimed += try await scene.claimDue(lane, at: now, limit: Int.random(in: 1..<5, using: &random))
    }

    private mutating func settle() async throws {
        claimed.shuffle(using: &random)
        var batch: [Settlement] = []
        for _ in 0..<min(claimed.count, Int.random(in: 1..<6, using: &random)) {
            batch.append(settlement(of: claimed.removeLast(), mayRetry: true))
        }
        try await scene.settle(batch)
        settled += batch
    }

    private mutating func settlement(of delivery: ClaimedDelivery, mayRetry: Bool) -> Settlement {
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where mayRetry, 1 where mayRetry:
            return delivery.retried(at: now + Int64.random(in: 0..<100, using: &random))
        case 2: return delivery.ended(.expired, reason: "late", at: now)
        case 3:
            forget(delivery.registration.key)
            return delivery.ended(
                .rejected, reason: "Unregistered", verdict: .dead(since: Timestamp(milliseconds: now)), at: now)
        default: return delivery.ended(at: now, latency: Int64.random(in: 0..<5000, using: &random))
        }
    }

    /// Repeats an old settlement. It must change nothing, unless the same delivery is claimed again by now.
    private mutating func settleAgain() async throws {
        guard let old = settled.randomElement(using: &random) else { return }
        let isOpen = claimed.contains {
            $0.message == old.delivery.message && $0.registration.key == old.delivery.registration.key
        }
        guard !isOpen else { return }
        let before = try await scene.store.report(old.delivery.message, in: scene.project)
        try await scene.settle([old])
        let after = try await scene.store.report(old.delivery.message, in: scene.project)
        #expect(before?.ended == after?.ended && before?.inFlight == after?.inFlight)
    }

    private mutating func crash() async throws {
        let open = claimed.count
        claimed = []
        try scene.crash()
        #expect(try await scene.store.rescue() >= open)
    }

    private mutating func finish() async throws {
        now += 1000
        while true {
            for lane in Lane.allCases { claimed += try await scene.claimDue(lane, at: now) }
            while let page = try await scene.claimPage(7, at: now) { claimed += page.deliveries }
            guard !claimed.isEmpty else { break }
            let batch = claimed
            claimed = []
            try await scene.settle(batch.map { settlement(of: $0, mayRetry: false) })
        }
        try await scene.check()
        #expect(scene.store.activeMessages == 0)
        let all = Timestamp(milliseconds: 0)..<Timestamp(milliseconds: now + 1)
        let rows = try await scene.export(all, limit: 50)
        let keys = Dictionary(uniqueKeysWithValues: registrations.map { ($0.id, $0.key) })
        for message in scene.sent { try await checkEnd(of: message, rows.filter { $0.message == message }, keys) }
    }

    private func checkEnd(
        of id: MessageID, _ rows: [ExportRow], _ keys: [RegistrationID: RegistrationKey]
    ) async throws {
        let report = try #require(try await scene.store.report(id, in: scene.project))
        let reached = rows.compactMap { keys[$0.delivery.registration] }
        #expect(report.state == .complete && report.inFlight == 0)
        #expect(reached.count == rows.count && Set(reached).count == rows.count, "each recipient once")
        #expect(report.recipients == rows.count)
        #expect(Set(reached).isSubset(of: allowed[id] ?? []), "nobody who did not subscribe")
        #expect(Set(reached).isSuperset(of: awaited[id] ?? []), "everybody who stayed")
    }
}

/// A small seeded generator (Steele, Lea and Flood 2014), so that a failing run can be repeated.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
