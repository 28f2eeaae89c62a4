import Foundation
import GRDB
import JSON
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// How the SQLite store cuts and packs fan-outs.
@Suite(.timeLimit(.minutes(5)))
struct FanOutTests {
    private let directory: TestDirectory
    private let store: SQLiteStore
    private let project = ProjectID(rawValue: "demo")!
    private let time = Timestamp(milliseconds: 100)

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    private func audience(_ count: Int) async throws -> [RegistrationKey] {
        var keys: [RegistrationKey] = []
        for number in 0..<count {
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil)
            keys.append(try await store.register(request, at: Timestamp(milliseconds: 1)).registration.key)
        }
        _ = try await store.subscribe(keys, to: Topic(rawValue: "news")!, at: Timestamp(milliseconds: 1))
        return keys
    }

    private func send(_ recipient: Recipient<RegistrationKey, [RegistrationKey]>, _ number: UInt64 = 1) async throws
        -> MessageID
    {
        let content = PlainContent()
        let message = NewMessage(
            id: MessageID(acceptedAt: Timestamp(milliseconds: 5), random: number), project: project,
            recipient: recipient, content: content, lane: .bulk,
            facts: MessageFacts(label: nil, isDisplayed: false, collapseKey: nil, priority: 5, timeToLiveSeconds: 60),
            acceptedAt: Timestamp(milliseconds: 5), expiresAt: Timestamp(milliseconds: 60_005))
        _ = try await store.accept([message], claimedBy: nil)
        return message.id
    }

    private func claimed(_ worker: WorkerID, limit: Int = 7) async throws -> [Int64] {
        var keys: [Int64] = []
        // A few shards of a message are offered at a time.
        while let shard = try await store.openFanOuts(limitPerProject: 100).first {
            while true {
                let claim = try await store.claimPage(of: shard.id, limit: limit, held: [], by: worker, at: time)
                keys += claim.page?.deliveries.map(\.registration.key.rawValue) ?? []
                if claim.isDone { break }
            }
        }
        return keys
    }

    @Test(arguments: [(1, 1), (50_000, 1), (50_001, 2), (400_000, 8), (5_000_000, 16)])
    func anAudienceIsCutIntoShardsThatTogetherReachEachOnce(subscribers: Int, shards: Int) async throws {
        let keys = try await audience(40)
        // As if there were so many: accept goes by the count alone.
        _ = try await store.lastColumn(of: "UPDATE topic SET subscribers = \(subscribers)")
        let id = try await send(.topic(Topic(rawValue: "news")!))
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM fan_out WHERE is_open = 1") == ["\(shards)"])
        let offered = try await store.openFanOuts(limitPerProject: 100).count
        #expect(offered == min(shards, OpenFanOut.shardsPerMessage))
        let expected = try await store.lastColumn(of: "SELECT sum(expected) FROM fan_out")
        #expect(expected == ["\(subscribers)"])
        let worker = try await store.enroll("test", for: .seconds(1000))
        #expect(try await claimed(worker) == keys.map(\.rawValue))
        #expect(try await store.report(id, in: project)?.recipients == 40)
    }

    @Test func eachNodeIsOfferedItsOwnShardsAndThenThoseOfOthers() async throws {
        _ = try await audience(40)
        _ = try await store.lastColumn(of: "UPDATE topic SET subscribers = 400000")
        let id = try await send(.topic(Topic(rawValue: "news")!))
        let shares = (0..<3).map { ShardShare(of: 3, at: $0) }
        var offered: [[OpenFanOut.ID]] = []
        for share in shares {
            let open = try await store.openFanOuts(limitPerProject: 9, held: [], share: share)
            #expect(open.allSatisfy { $0.isOwn && $0.message == id })
            offered.append(open.map(\.id))
        }
        #expect(offered.map(\.count).sorted() == [2, 3, 3] && Set(offered.joined()).count == 8)
        let worker = try await store.enroll("test", for: .seconds(1000))
        for shard in offered[1] {
            while try await !store.claimPage(of: shard, limit: 7, held: [], by: worker, at: time).isDone {}
        }
        let open = try await store.openFanOuts(limitPerProject: 9, held: [], share: shares[1])
        // From the end: their nodes work on the first.
        #expect(open.allSatisfy { !$0.isOwn })
        let others = (offered[0] + offered[2]).sorted { $0.shard < $1.shard }
        #expect(open.map(\.id) == others.suffix(OpenFanOut.shardsPerMessage).reversed())
    }

    @Test func whoWasPurgedWhileAPageOrARetryWaitedEndsAsUnregistered() async throws {
        let keys = try await audience(3)
        let id = try await send(.topic(Topic(rawValue: "news")!))
        let single = try await send(.list([keys[2]]), 2)
        let first = try await store.enroll("first", for: .milliseconds(-1))
        #expect(try await claimed(first).count == 3)
        #expect(try await store.takeOver(at: time) == 3)
        _ = try await store.lastColumn(of: "DELETE FROM subscription")
        for key in keys[1...] {
            _ = try await store.lastColumn(of: "DELETE FROM registration WHERE key = \(key.rawValue)")
        }
        let second = try await store.enroll("second", for: .seconds(1000))
        #expect(try await claimed(second) == [keys[0].rawValue])
        let report = try #require(try await store.report(id, in: project))
        #expect(report.rejectedByReason == ["Unregistered": 2] && report.inFlight == 1 && report.recipients == 3)
        let route = PushRoute(project: project, app: AppID(rawValue: "com.example.app")!, channel: .apns(.production))
        let due = try await store.claimDue(.bulk, route, limit: 9, by: second, at: time)
        #expect(due.isEmpty)
        #expect(try await store.report(single, in: project)?.state == .complete)
        #expect(try await store.check() == [])
    }

    @Test(arguments: [[], [1], [1, 2, 3], [127, 128, 16_383, 16_384, 1 << 40], [Int64.max]] as [[Int64]])
    func packedKeysComeBack(keys: [Int64]) throws {
        #expect(try PackedKeys.keys(PackedKeys.data(keys)) == keys)
    }

    @Test func keysThatDoNotAscendAndPartsOfNumbersAreRefused() {
        for bytes in [[0], [1, 0], [0x80], [1, 0xff], Array(repeating: 0xff, count: 12)] as [[UInt8]] {
            #expect(throws: StoreError.self) { try PackedKeys.keys(bytes) }
        }
        let descending = PackedKeys.data([5, 4])
        #expect(throws: StoreError.self) { try PackedKeys.keys(descending) }
    }

    @Test func aKeyIsLookedForAmongPackedOnesWithoutReadingBeyondIt() throws {
        let keys: [Int64] = [7, 127, 128, 16_383, 1 << 40]
        let data = PackedKeys.data(keys)
        for key in keys {
            #expect(try PackedKeys.contain(key, in: data))
            #expect(try !PackedKeys.contain(key + 3, in: data))
        }
        let damaged = PackedKeys.data([500]) + [0x80]
        #expect(try !PackedKeys.contain(499, in: damaged))
        #expect(try PackedKeys.contain(500, in: damaged))
        #expect(throws: StoreError.self) { try PackedKeys.contain(501, in: damaged) }
    }

    @Test func aBitmapTakesEachPlaceOnce() {
        var bitmap = KeyBitmap(count: 9)
        #expect(bitmap.bytes.count == 2)
        for index in [0, 8, 3] {
            let isNew = bitmap.settle(index)
            let isAgain = bitmap.settle(index)
            #expect(isNew && !isAgain)
        }
        #expect((0..<9).filter { KeyBitmap(bitmap.bytes)[$0] } == [0, 3, 8])
    }

    private final class ReadCount: Sendable {
        let count = Atomic(0)
    }

    @Test func whoIsLeftOfACancelledMessageIsLookedForBesideTheWriter() async throws {
        let keys = try await audience(40)
        for key in keys[..<20] { try await store.end(key, RegistrationEnd(time: time, cause: .deleted)) }
        let id = try await send(.topic(Topic(rawValue: "news")!))
        for key in keys[20..<30] { try await store.end(key, RegistrationEnd(time: time, cause: .deleted)) }
        _ = try await store.control(id, in: project, .cancel, at: time, by: CredentialUse(id: "test"))
        let reads = ReadCount()
        try await store.write { db in
            try db.sqlite.trace { event in
                if "\(event)".contains("FROM subscription") { reads.count.add(1, ordering: .relaxed) }
            }
        }
        #expect(try await store.bookCancelled(limit: 100, at: time) == 10)
        try await store.write { db in try db.sqlite.trace(options: []) }
        #expect(reads.count.load(ordering: .relaxed) == 0, "the writer looks at no recipient")
        let report = try #require(try await store.report(id, in: project))
        #expect(report.ended[.cancelled] == 10 && report.completedAt != nil)
    }

    @Test func aPauseMarksWhatWaitsInStepsAndNothingOfItIsClaimedBetween() async throws {
        let keys = try await audience(40)
        let id = try await send(.list(keys))
        let route = PushRoute(project: project, app: AppID(rawValue: "com.example.app")!, channel: .apns(.production))
        let worker = try await store.enroll("w", for: .seconds(1000))
        _ = try await store.control(id, in: project, .pause, at: time, by: CredentialUse(id: "test"))
        // As if the pause had come this far only.
        try await store.write { db in try db.post("UPDATE pending SET is_held = 0") }
        #expect(try await store.claimDue(.bulk, route, limit: 7, by: worker, at: time).isEmpty)
        #expect(try await store.dueRoutes(.bulk, at: time) == DueRoutes(), "what was come by is marked")
        #expect(try await store.check() == [])
        _ = try await store.control(id, in: project, .resume, at: time, by: CredentialUse(id: "test"))
        #expect(try await store.claimDue(.bulk, route, limit: 100, by: worker, at: time).count == 40)
    }
}
