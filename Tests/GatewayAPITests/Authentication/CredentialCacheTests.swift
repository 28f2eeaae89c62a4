import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct CredentialCacheTests {
    /// Keys that count how often they are asked for.
    private final class Keys: Sendable {
        let records = Mutex<[String: APIKeyRecord]>([:])
        let questions = Atomic(0)

        func insert(_ key: APIKeyRecord) { records.withLock { $0[key.id] = key } }
        func key(_ id: String) async throws(StoreError) -> APIKeyRecord? {
            questions.add(1, ordering: .relaxed)
            return records.withLock { $0[id] }
        }
        func revoke(_ id: String, at time: Timestamp) { records.withLock { $0[id]?.revokedAt = time } }

        var count: Int { questions.load(ordering: .relaxed) }
    }

    private final class Time: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
        func advance(by duration: Duration) { instant.withLock { $0 += duration } }
    }

    private let keys = Keys()
    private let time = Time()
    private let key = APIKey(project: ProjectID(rawValue: "demo")!, role: .sender, at: TestGateway.startTime)

    private typealias Cache = CredentialCache<String, APIKeyRecord>

    private func cache() -> Cache { Cache(now: { [time] in time.now }) }

    @Test func aKeyIsAskedForOnceInAWhile() async throws {
        let cache = cache()
        keys.insert(key.record)
        for _ in 0..<10 { #expect(try await cache.record(key.record.id, read: keys.key) == key.record) }
        #expect(keys.count == 1)
        time.advance(by: Cache.lifetime)
        #expect(try await cache.record(key.record.id, read: keys.key) == key.record)
        #expect(keys.count == 2)
    }

    @Test func aRevokedKeyEndsWithinASecond() async throws {
        let cache = cache()
        keys.insert(key.record)
        #expect(try await cache.record(key.record.id, read: keys.key)?.revokedAt == nil)
        keys.revoke(key.record.id, at: TestGateway.startTime)
        time.advance(by: .milliseconds(999))
        #expect(try await cache.record(key.record.id, read: keys.key)?.revokedAt != nil)
    }

    @Test func aNewKeyWorksAtOnce() async throws {
        let cache = cache()
        #expect(try await cache.record(key.record.id, read: keys.key) == nil)
        keys.insert(key.record)
        #expect(try await cache.record(key.record.id, read: keys.key) == key.record)
    }

    @Test func madeUpKeysTakeNoRoom() async throws {
        let cache = cache()
        for number in 0..<100 { #expect(try await cache.record("id\(number)", read: keys.key) == nil) }
        #expect(keys.count == 100)
        #expect(try await cache.record("id0", read: keys.key) == nil)
        #expect(keys.count == 101)
    }
}
