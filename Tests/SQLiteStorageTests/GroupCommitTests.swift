import Dispatch
import Foundation
import GRDB
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

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

    /// Fills all places of a kind while the writer is occupied, and `tooMany` more.
    private func fill(
        _ kind: WriteKind, beyond tooMany: Int, then body: () async throws -> Void, _ gate: DispatchSemaphore
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { [store] group in
            for _ in 0..<kind.limit + tooMany {
                group.addTask {
                    do throws(StoreError) {
                        return try await store.write(kind) { _ in true }
                    } catch {
                        #expect(error.code == .busy && error.isOfWholeStore)
                        return false
                    }
                }
            }
            for _ in 0..<tooMany { #expect(try await group.next() == false) }
            try await body()
            gate.signal()
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
    }

    /// Nothing that a commit asked for is open behind it: where no other connection copies the log, as in a command, the
    /// writing one does so with its commits.
    @Test func theLogOfACommandStaysSmall() async throws {
        let path = directory.file("command")
        let store = try SQLiteStore(directory: path, role: .command, logger: Logger(label: "test"))
        try await store.write { db in _ = try db.change("CREATE TABLE filler (bytes BLOB)") }
        for _ in 0..<100 {
            try await store.write { db in
                _ = try db.change("INSERT INTO filler (bytes) VALUES (zeroblob(200000))")
            }
        }
        let size = try FileManager.default.attributesOfItem(atPath: path + "/herald.db-wal")[.size] as? Int
        #expect(try #require(size) < 8_000_000, "100 commits of 200 kB")
        try store.close()
    }

    @Test(arguments: [WriteKind.accept, .probe])
    func aFullQueueRefusesAtOnceAndKeepsWhatWaits(kind: WriteKind) async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        #expect(try await fill(kind, beyond: 3, then: {}, gate) == kind.limit)
        try await blocker.value
        #expect(await store.state() == StoreState(), "a queue that was full is no fault of the store")
    }

    /// Which writes ran, in their order.
    private final class Order: Sendable {
        private let kinds = Mutex<[WriteKind]>([])

        func note(_ kind: WriteKind) { kinds.withLock { $0.append(kind) } }

        /// How many accepts ran before the first write of a kind; `nil`: it did not run.
        func acceptsBefore(_ kind: WriteKind) -> Int? {
            kinds.withLock { kinds in
                kinds.firstIndex(of: kind).map { place in kinds[..<place].count { $0 == .accept } }
            }
        }
    }

    @Test func whenNoAcceptFindsAPlaceDeliveryAndHealthGoOnInTheNextGroup() async throws {
        let gate = DispatchSemaphore(value: 0)
        let blocker = await occupy(until: gate)
        let order = Order()
        let kinds: [WriteKind] = [.settlement, .claim, .lease, .probe]
        try await withThrowingTaskGroup(of: Void.self) { [store] group in
            for _ in 0..<WriteKind.accept.limit {
                group.addTask { try await store.write(.accept, rows: 4) { _ in order.note(.accept) } }
            }
            while store.committer.waiting([.accept]) < WriteKind.accept.limit { await Task.yield() }
            let error = await #expect(throws: StoreError.self) { try await store.write(.accept) { _ in } }
            #expect(error?.code == .busy)
            for kind in kinds { group.addTask { try await store.write(kind) { _ in order.note(kind) } } }
            while store.committer.waiting(kinds) < kinds.count { await Task.yield() }
            gate.signal()
            try await group.waitForAll()
        }
        try await blocker.value
        for kind in kinds {
            let before = try #require(order.acceptsBefore(kind))
            #expect(before <= WriteQueue<Void>.groupRows / 4, "in the first group: \(kind)")
        }
    }

    @Test func aLookUpThatFindsNoPlaceIsRefused() async throws {
        let gate = DispatchSemaphore(value: 0)
        let (running, isRunning) = AsyncStream.makeStream(of: Void.self)
        let found = try await withThrowingTaskGroup(of: Bool?.self) { [store] group in
            for _ in 0..<ReadBatcher.concurrency * ReadBatcher.batchLimit + ReadBatcher.queueLimit + 5 {
                group.addTask {
                    do throws(StoreError) {
                        return try await store.lookUp { _ in
                            isRunning.yield()
                            gate.wait()
                            return true
                        }
                    } catch {
                        #expect(error.code == .busy)
                        return false
                    }
                }
            }
            for await _ in running { break }
            #expect(try await group.next() == false)
            var found = 0
            for _ in 0..<ReadBatcher.concurrency * ReadBatcher.batchLimit + ReadBatcher.queueLimit + 5 { gate.signal() }
            while let isFound = try await group.next() { found += isFound == true ? 1 : 0 }
            return found
        }
        #expect(found >= ReadBatcher.queueLimit)
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
                            try await store.insert(Self.key(number), by: .gateway)
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
                            try db.change("UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
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
        let task = Task { [store] in try await store.insert(Self.key(1), by: .gateway) }
        task.cancel()
        gate.signal()
        try await task.value
        try await blocker.value
        #expect(try await store.apiKey("k1") != nil)
    }

    @Test func everyCommitIsSynced() async throws {
        for kind in WriteKind.allCases {
            let level = try await store.write(kind) { db in try db.number("PRAGMA synchronous") }
            #expect(level == 2, "FULL while a \(kind) is committed")
        }
    }
}
