import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct KeyCacheTests {
    /// Keys that count how often they are asked for.
    private final class Keys: CredentialStore {
        let records = Mutex<[String: APIKeyRecord]>([:])
        let questions = Atomic(0)

        func insert(_ key: APIKeyRecord) async throws(StoreError) { records.withLock { $0[key.id] = key } }
        func apiKey(_ id: String) async throws(StoreError) -> APIKeyRecord? {
            questions.add(1, ordering: .relaxed)
            return records.withLock { $0[id] }
        }
        func apiKeys(of project: ProjectID?) async throws(StoreError) -> [APIKeyRecord] { [] }
        func revoke(_ id: String, at time: Timestamp) async throws(StoreError) -> Bool {
            records.withLock { $0[id]?.revokedAt = time }
            return true
        }

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

    private func cache() -> KeyCache { KeyCache(now: { [time] in time.now }) }

    @Test func aKeyIsAskedForOnceInAWhile() async throws {
        let cache = cache()
        try await keys.insert(key.record)
        for _ in 0..<10 { #expect(try await cache.key(key.record.id, from: keys) == key.record) }
        #expect(keys.count == 1)
        time.advance(by: KeyCache.lifetime)
        #expect(try await cache.key(key.record.id, from: keys) == key.record)
        #expect(keys.count == 2)
    }

    @Test func aRevokedKeyEndsWithinASecond() async throws {
        let cache = cache()
        try await keys.insert(key.record)
        #expect(try await cache.key(key.record.id, from: keys)?.revokedAt == nil)
        _ = try await keys.revoke(key.record.id, at: TestGateway.startTime)
        time.advance(by: .milliseconds(999))
        #expect(try await cache.key(key.record.id, from: keys)?.revokedAt != nil)
    }

    @Test func aNewKeyWorksAtOnce() async throws {
        let cache = cache()
        #expect(try await cache.key(key.record.id, from: keys) == nil)
        try await keys.insert(key.record)
        #expect(try await cache.key(key.record.id, from: keys) == key.record)
    }

    @Test func madeUpKeysTakeNoRoom() async throws {
        let cache = cache()
        for number in 0..<100 { #expect(try await cache.key("id\(number)", from: keys) == nil) }
        #expect(keys.count == 100)
        #expect(try await cache.key("id0", from: keys) == nil)
        #expect(keys.count == 101)
    }
}
