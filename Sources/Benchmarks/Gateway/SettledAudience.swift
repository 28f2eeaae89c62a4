import FCMWire
import Foundation
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// What a row cost, in microseconds.
struct RowCost: Codable {
    var claim: Double
    var settle: Double
    /// User and system time of the whole process, both steps together.
    var processor: Double

    /// The median of each figure by itself.
    static func median(of costs: [RowCost]) -> RowCost {
        RowCost(
            claim: costs.map(\.claim).median, settle: costs.map(\.settle).median,
            processor: costs.map(\.processor).median)
    }
}

/// Registrations of a topic, and broadcasts to them that are claimed and settled without being sent.
///
/// All that the benchmarks of the store know about how work is claimed stands here.
struct SettledAudience {
    /// How a broadcast ends.
    enum Kind {
        case expired, suspects, proven
    }

    let store: SQLiteStore
    let size: Int
    let batch: Int
    private let project = ProjectID(rawValue: GatewayFiles.project)!

    init(store: SQLiteStore, size: Int, batch: Int) {
        self.store = store
        self.size = size
        self.batch = batch
    }

    /// Registers and subscribes a new audience.
    func make(_ round: Int) async throws -> Topic {
        let topic = Topic(rawValue: "round-\(round)")!
        for start in stride(from: 0, to: size, by: 1000) {
            let numbers = round * size + start..<round * size + min(start + 1000, size)
            let registrations = try await Audience.register(numbers, in: store)
            _ = try await store.subscribe(registrations.map(\.key), to: topic, at: Audience.now())
        }
        return topic
    }

    /// Sends one broadcast and settles it, page by page.
    func settle(_ topic: Topic, as kind: Kind) async throws -> (message: MessageID, cost: RowCost) {
        let message = try await accept(topic)
        let begin = clock()
        var (claiming, settling) = (Duration.zero, Duration.zero)
        let worker = try await store.enroll("herald-bench", for: .seconds(86_400))
        while let shard = try await store.openFanOuts(limitPerProject: 1).first {
            let start = ContinuousClock.now
            let claim = try await store.claimPage(
                of: shard.id, limit: batch, held: [], by: worker, at: Audience.now())
            guard let page = claim.page else { continue }
            let claimed = ContinuousClock.now
            let settlements = page.deliveries.map { settlement(of: $0, as: kind) }
            settling += try await ContinuousClock().measure { _ = try await store.settle(settlements, by: worker) }
            claiming += claimed - start
        }
        let processor = Double(clock() - begin) / Double(CLOCKS_PER_SEC)
        func perRow(_ seconds: Double) -> Double { seconds * 1e6 / Double(size) }
        return (
            message,
            RowCost(
                claim: perRow(claiming.seconds), settle: perRow(settling.seconds), processor: perRow(processor))
        )
    }

    private func accept(_ topic: Topic) async throws -> MessageID {
        let accepted = Audience.now()
        let id = MessageID(acceptedAt: accepted, random: .random(in: 0 ... .max))
        let content = try FCMMessage(
            source: JSONValue(parsing: Array(#"{"notification":{"title":"Hello"}}"#.utf8)))
        let message = NewMessage(
            id: id, project: project, recipient: .topic(topic), content: content, lane: .bulk,
            facts: MessageFacts(
                label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 3600),
            acceptedAt: accepted, expiresAt: accepted + .seconds(3600))
        _ = try await store.accept([message], claimedBy: nil)
        return id
    }

    private func settlement(of delivery: ClaimedDelivery, as kind: Kind) -> Settlement {
        precondition(kind == .proven ? delivery.registration.isProven : !delivery.registration.isProven)
        let entry = LedgerEntry(
            outcome: kind == .expired ? .expired : .accepted, reason: kind == .expired ? "Expired" : nil,
            verdict: kind == .suspects ? .proven(in: .apns(.production)) : nil, history: AttemptHistory(attempts: 1),
            time: Audience.now(), latencyMilliseconds: 40,
            pushID: PushID(message: delivery.message, registration: delivery.registration.key))
        return Settlement(delivery: delivery, result: .ended(entry))
    }
}
