import Dispatch
import GRDB
import Logging
import PushModel
import TestSupport
import Testing

@testable import Store

/// Writes that wait at the same time share a commit, and none of them is lost, invented or mixed up.
@Suite(.timeLimit(.minutes(5)))
struct GroupCommitTests {
    private let directory: TestDirectory
    private let store: SQLiteStore

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: Logger(label: "test"))
    }

    private static func key(_ number: Int) -> APIKeyRecord {
        APIKeyRecord(
            id: "k\(number)", project: ProjectID(rawValue: "demo")!, role: .client,
            digest: Array(repeating: 1, count: 32), createdAt: Timestamp(milliseconds: 1), revokedAt: nil)
    }

    /// Occupies the writing connection until the gate opens, so that what is written meanwhile forms one group.
    private func occupy(until gate: DispatchSemaphore) async -> Task<Void, any Error> {
        let (running, isRunning) = AsyncStream.makeStream(of: Never.self)
        let task = Task { [store] in
            try await store.write { _ in
                isRunning.finish()
                gate.wait()
            }
        }
        for await _ in running {}
        return task
    }

    @Test func aFullQueueRefusesAtOnceAndKeepsWhatWaits() async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let tooMany = 3
        let results = try await withThrowingTaskGroup(of: Bool.self) { [store] group in
            for _ in 0..<GroupCommitter.queueLimit + tooMany {
                group.addTask {
                    do throws(StoreError) {
                        return try await store.write { _ in true }
                    } catch {
                        #expect(error.code == .unavailable)
                        return false
                    }
                }
            }
            for _ in 0..<tooMany { #expect(try await group.next() == false) }
            gate.signal()
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == GroupCommitter.queueLimit)
        try await blocker.value
    }

    @Test func aGroupWhoseTransactionIsLostFailsAsAWhole() async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let failures = await withTaskGroup(of: Bool.self) { [store] group in
            for number in 0..<20 {
                group.addTask {
                    do {
                        if number == 10 {
                            _ = try await store.lastColumn(of: "ROLLBACK")
                        } else {
                            try await store.insert(Self.key(number))
                        }
                        return false
                    } catch {
                        return true
                    }
                }
            }
            gate.signal()
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        let kept = try await store.apiKeys(of: nil).count
        #expect(failures >= 1)
        #expect(kept == 20 - failures, "what failed is not there, and what did not fail is")
        _ = await blocker.result
        #expect(await store.state().isWritable)
    }

    @Test func aWriteThatFailsTakesBackItsOwnChangesOnly() async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let before = try await probes()
        let failures = await withTaskGroup(of: Bool.self) { [store] group in
            for number in 0..<20 {
                group.addTask {
                    do throws(StoreError) {
                        try await store.write { db in
                            try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
                            if number % 7 == 3 { throw StoreError(.failed, "after half of it") }
                        }
                        return false
                    } catch {
                        return error.message == "after half of it"
                    }
                }
            }
            gate.signal()
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(failures == 3)
        #expect(try await probes() - before == 17, "each of the others once, although they ran twice")
        try await blocker.value
    }

    private func probes() async throws -> Int64 {
        try await store.read { db in try db.number("SELECT value FROM meta WHERE name = 'write_probe'") ?? 0 }
    }

    @Test func aCancelledCallerDoesNotTakeItsWriteBack() async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let task = Task { [store] in try await store.insert(Self.key(1)) }
        task.cancel()
        gate.signal()
        try await task.value
        try await blocker.value
        #expect(try await store.apiKey("k1") != nil)
    }

    /// How the connection syncs while a write of this kind is committed (1 NORMAL, 2 FULL).
    private func level(isDurable: Bool) async throws -> Int? {
        try await store.write(isDurable: isDurable) { db in try Int.fetchOne(db, sql: "PRAGMA synchronous") }
    }

    @Test func onlyGroupsThatHoldNothingButClaimsAreCommittedWithoutASync() async throws {
        for isDurable in [true, false, false, true, true, false, true] {
            #expect(try await level(isDurable: isDurable) == (isDurable ? 2 : 1))
        }
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let levels = try await withThrowingTaskGroup(of: Int?.self) { group in
            let (queued, isQueued) = AsyncStream.makeStream(of: Void.self)
            for number in 0..<10 {
                group.addTask {
                    isQueued.yield()
                    return try await level(isDurable: number == 7)
                }
            }
            var count = 0
            for await _ in queued {
                count += 1
                if count == 10 { break }
            }
            // The last ones may come a moment after the gate opens, in a group of their own.
            gate.signal()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(levels.contains(2))
        try await blocker.value
        #expect(try await level(isDurable: true) == 2)
    }
}
