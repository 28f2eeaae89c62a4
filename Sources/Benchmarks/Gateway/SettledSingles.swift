import FCMWire
import Foundation
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// Single sends at times of the caller's that are accepted, claimed in the same step and settled; nothing is sent.
struct SettledSingles {
    let store: SQLiteStore
    let registrations: [Registration]
    /// Messages in a transaction.
    let batch: Int
    private let content: any MessageContent
    private let project = ProjectID(rawValue: GatewayFiles.project)!

    init(store: SQLiteStore, registrations: [Registration], batch: Int) throws {
        self.store = store
        self.registrations = registrations
        self.batch = batch
        content = try FCMMessage(
            source: JSONValue(
                parsing: Array(
                    #"{"token":"0123456789abcdef0123456789abcdef","notification":{"title":"Hello","body":"A code: 123456"}}"#
                        .utf8)))
    }

    /// Sends messages that are spread evenly over a time.
    ///
    /// - Returns: the ids of `samples` of them, the same distance apart.
    func play(_ count: Int, from start: Timestamp, over time: Duration, samples: Int) async throws -> [MessageID] {
        let worker = try await store.enroll("herald-bench", for: .seconds(86_400))
        var ids: [MessageID] = []
        for first in stride(from: 0, to: count, by: batch) {
            let messages = (first..<min(first + batch, count)).map { number in
                message(at: start + time * number / count)
            }
            let claims = try await store.accept(messages, claimedBy: worker).flatMap { result -> [ClaimedDelivery] in
                if case .accepted(_, let claims) = result { claims } else { [] }
            }
            guard claims.count == messages.count else {
                throw BenchFailure("the store claimed \(claims.count) of \(messages.count) singles")
            }
            _ = try await store.settle(claims.map(settlement), by: worker)
            if ids.count * count < samples * (first + messages.count) { ids.append(messages[0].id) }
        }
        return ids
    }

    private func message(at time: Timestamp) -> NewMessage {
        NewMessage(
            id: MessageID(acceptedAt: time, random: .random(in: 0 ... .max)), project: project,
            recipient: .registration(registrations[.random(in: 0..<registrations.count)].key), content: content,
            lane: .interactive,
            facts: MessageFacts(
                label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 3600),
            acceptedAt: time, expiresAt: time + .seconds(3600))
    }

    private func settlement(of delivery: ClaimedDelivery) -> Settlement {
        let entry = LedgerEntry(
            outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
            time: delivery.acceptedAt + .milliseconds(40), latencyMilliseconds: 40,
            pushID: PushID(message: delivery.message, registration: delivery.registration.key))
        return Settlement(delivery: delivery, result: .ended(entry))
    }
}
