import ArgumentParser
import Foundation
import Logging
import PushModel
import Store

/// `herald-bench settle`: what a row of the settle transaction costs, for suspects and for proven device tokens.
struct SettleCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "settle", abstract: "Measures what settling an accepted delivery costs the store.",
        discussion: """
            A broadcast to device tokens that APNs accepts for the first time writes the mark in its settle batches; the \
            next one to the same tokens has nothing to mark. Both are settled in the same store, in turns.
            """)

    @Option(help: "Pairs of runs.") var rounds = 7
    @Option(help: "Deliveries in a run.") var rows = 20_000
    @Option(help: "Deliveries in a transaction.") var batch = 1000
    @Option(help: "Where the store is made; removed afterwards.") var directory = FileManager.default.temporaryDirectory
        .path

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1...200_000).contains(rows) else { throw ValidationError("--rows is 1 to 200000.") }
        guard (1...10_000).contains(batch) else { throw ValidationError("--batch is 1 to 10000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let path = directory + "/herald-bench-\(UUID().uuidString)"
        defer {
            do {
                try FileManager.default.removeItem(atPath: path)
            } catch {
                print("\(path) could not be removed: \(error)")
            }
        }
        let store = try SQLiteStore(directory: path, role: .gateway, logger: Logger(label: "herald-bench"))
        let audience = SettledAudience(store: store, size: rows, batch: batch)
        var suspects: [SettleCost] = []
        var proven: [SettleCost] = []
        for round in 0..<rounds {
            let topic = try await audience.make(round)
            // What both read comes out of the cache.
            _ = try await audience.settle(topic, as: .expired)
            suspects.append(try await audience.settle(topic, as: .suspects))
            proven.append(try await audience.settle(topic, as: .proven))
        }
        show("device tokens", wall: "wall µs/row", "CPU µs/row")
        show("suspects", SettleCost.median(of: suspects))
        show("proven", SettleCost.median(of: proven))
        func ratio(_ value: (SettleCost) -> Double) -> String {
            let ratios = zip(suspects, proven).map { value($0) / value($1) }.sorted()
            return String(format: "%.2f", ratios[ratios.count / 2])
        }
        show("ratio", wall: ratio(\.wall), ratio(\.cpu))
        try store.close()
    }

    private func show(_ name: String, _ cost: SettleCost) {
        show(name, wall: String(format: "%.2f", cost.wall), String(format: "%.2f", cost.cpu))
    }

    private func show(_ name: String, wall: String, _ cpu: String) {
        print(name.padding(toLength: 14, withPad: " ", startingAt: 0), wall, cpu, separator: "   ")
    }
}

/// What a row cost, in microseconds.
private struct SettleCost {
    var wall: Double
    /// User and system time of the whole process.
    var cpu: Double

    static func median(of costs: [SettleCost]) -> SettleCost {
        func middle(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        return SettleCost(wall: middle(costs.map(\.wall)), cpu: middle(costs.map(\.cpu)))
    }
}

/// Registrations of a topic, and broadcasts to them.
private struct SettledAudience {
    /// How a broadcast ends.
    enum Kind {
        case expired, suspects, proven
    }

    let store: SQLiteStore
    let size: Int
    let batch: Int
    private let project = ProjectID(rawValue: "bench")!
    private let app = AppID(rawValue: "com.example.bench")!

    init(store: SQLiteStore, size: Int, batch: Int) {
        self.store = store
        self.size = size
        self.batch = batch
    }

    /// Registers and subscribes a new audience.
    func make(_ round: Int) async throws -> Topic {
        let topic = Topic(rawValue: "round-\(round)")!
        for start in stride(from: 0, to: size, by: 1000) {
            let keys = try await withThrowingTaskGroup(of: RegistrationKey.self) { group in
                for number in start..<min(start + 1000, size) {
                    let request = RegistrationRequest(
                        project: project, app: app, deviceToken: deviceToken(round, number), environment: .production,
                        appVersion: nil)
                    group.addTask { try await store.register(request, at: now()).registration.key }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            _ = try await store.subscribe(keys, to: topic, at: now())
        }
        return topic
    }

    /// Sends one broadcast; only the calls that settle count.
    func settle(_ topic: Topic, as kind: Kind) async throws -> SettleCost {
        let accepted = now()
        let content = try MessageContent(
            source: JSONValue(parsing: Array(#"{"notification":{"title":"Hello"}}"#.utf8)))
        _ = try await store.accept(
            NewMessage(
                id: MessageID(acceptedAt: accepted, random: .random(in: 0 ... .max)), project: project,
                recipient: .topic(topic), content: content,
                facts: MessageFacts(
                    label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 3600),
                acceptedAt: accepted, expiresAt: accepted + .seconds(3600)))
        var wall = Duration.zero
        var ticks = 0
        while let page = try await store.claimPage(limit: batch, at: now()) {
            let settlements = page.deliveries.map { settlement(of: $0, as: kind) }
            let begin = clock()
            wall += try await ContinuousClock().measure { _ = try await store.settle(settlements) }
            ticks += clock() - begin
        }
        let microseconds = Double(wall / .microseconds(1))
        return SettleCost(
            wall: microseconds / Double(size), cpu: Double(ticks) * 1e6 / Double(CLOCKS_PER_SEC) / Double(size))
    }

    private func settlement(of delivery: ClaimedDelivery, as kind: Kind) -> Settlement {
        precondition(kind == .proven ? delivery.registration.isProven : !delivery.registration.isProven)
        let entry = LedgerEntry(
            outcome: kind == .expired ? .expired : .accepted, reason: kind == .expired ? "Expired" : nil,
            verdict: kind == .suspects ? .proven(in: .production) : nil, history: AttemptHistory(attempts: 1),
            time: now(), latencyMilliseconds: 40,
            apnsID: APNSID(message: delivery.message, registration: delivery.registration.key))
        return Settlement(delivery: delivery, result: .ended(entry))
    }

    private func deviceToken(_ round: Int, _ number: Int) -> DeviceToken {
        let text = "\(round)/\(number)"
        return DeviceToken(bytes: Array((text + String(repeating: "x", count: 32 - text.utf8.count)).utf8))!
    }

    private func now() -> Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
