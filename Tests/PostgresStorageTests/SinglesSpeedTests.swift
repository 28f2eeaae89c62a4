import Foundation
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage

/// How many messages to one registration each the two storages take and settle in a second: some senders hand in one at a
/// time, and what they got is settled in batches behind them, as the gateway does. It
/// prints figures and holds nothing against them; `HERALD_SPEED` is how many messages.
@Suite(
    .enabled(if: PostgreSQLServer.isInstalled && testSetting("HERALD_SPEED", 0) > 0), .serialized,
    .timeLimit(.minutes(10)))
struct SinglesSpeedTests {
    private let count = Int(testSetting("HERALD_SPEED", 0))
    private let senders = Int(testSetting("HERALD_SPEED_SENDERS", 64))
    private let project = ProjectID(rawValue: "demo")!

    @Test func singlesOnPostgreSQL() async throws {
        // Not the shared one, which may have its files in memory.
        let server = try await PostgreSQLServer()
        let url = try await server.makeDatabase()
        let store = try PostgresStore.open(url: url, role: .gateway, logger: Logger(label: "test"))
        try await measure("PostgreSQL", store)
        try store.close()
        await server.stop(immediate: true)
    }

    @Test func singlesOnSQLite() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(
            directory: directory.file("data"), role: .gateway, logger: Logger(label: "test"))
        try await measure("SQLite", store)
        try store.close()
    }

    private func measure(_ name: String, _ store: any CompleteStore) async throws {
        let worker = try await store.enroll("speed", for: .seconds(3600))
        let registrations = try await register(1000, store)
        let (claims, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let accepted = Shared<[ClaimedDelivery]>([])
        let (times, duration) = try await timed {
            async let settled: Void = settle(accepted, claims, store, worker)
            let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
                for sender in 0..<senders {
                    group.addTask {
                        try await send(sender, registrations, store, worker) { claims in
                            accepted.withLock { $0 += claims }
                            continuation.yield()
                        }
                    }
                }
                return try await group.reduce(into: [Duration]()) { $0 += $1 }
            }
            continuation.finish()
            try await settled
            return times
        }
        let sorted = times.sorted()
        print(
            "speed: \(name): \(Int(Double(sorted.count) / (duration / .seconds(1)))) singles/s accepted and settled, "
                + "\(senders) senders, accept p50 \(sorted[sorted.count / 2]), p99 \(sorted[sorted.count * 99 / 100])")
    }

    private func timed<Value>(_ body: () async throws -> Value) async throws -> (Value, Duration) {
        let start = ContinuousClock.now
        let value = try await body()
        return (value, .now - start)
    }

    private func register(_ count: Int, _ store: any CompleteStore) async throws -> [Registration] {
        var registrations: [Registration] = []
        for number in 0..<count {
            let token = DeviceToken(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })!
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!, address: .apple(token, .production),
                appVersion: nil)
            registrations.append(try await store.register(request, at: Timestamp(milliseconds: 1)).registration)
        }
        return registrations
    }

    /// One sender's part: one after the other.
    private func send(
        _ sender: Int, _ registrations: [Registration], _ store: any CompleteStore, _ worker: WorkerID,
        _ note: @Sendable ([ClaimedDelivery]) -> Void
    ) async throws -> [Duration] {
        var times: [Duration] = []
        for number in 0..<count / senders {
            let key = registrations[(sender * 31 + number) % registrations.count].key
            let message = NewMessage(
                sampleFor: .registration(key), in: project, at: Int64(1000 + number),
                number: UInt64(sender) << 32 | UInt64(number))
            let (results, time) = try await timed { try await store.accept([message], claimedBy: worker) }
            times.append(time)
            guard case .accepted(_, let claims)? = results.first else { continue }
            note(claims)
        }
        return times
    }

    /// Settles what was accepted, whatever gathered meanwhile at a time.
    private func settle(
        _ accepted: Shared<[ClaimedDelivery]>, _ claims: AsyncStream<Void>, _ store: any CompleteStore,
        _ worker: WorkerID
    ) async throws {
        for await _ in claims {
            let batch = accepted.withLock { accepted in
                defer { accepted.removeAll() }
                return accepted
            }
            _ = try await store.settle(batch.map { ended($0) }, by: worker)
        }
    }

    private func ended(_ delivery: ClaimedDelivery) -> Settlement {
        Settlement(
            delivery: delivery,
            result: .ended(
                LedgerEntry(
                    outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                    time: Timestamp(milliseconds: 5000), latencyMilliseconds: 45,
                    pushID: PushID(message: delivery.message, registration: delivery.registration.key))))
    }
}
