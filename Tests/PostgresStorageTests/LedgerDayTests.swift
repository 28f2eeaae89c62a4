import Dispatch
import Logging
import PostgreSQLClient
import PushModel
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage
@testable import SQLStorage

/// The ledger in partitions by days: where blocks go, and that days go as a whole when retention has taken all of them.
@Suite(.timeLimit(.minutes(10)), .enabled(if: PostgreSQLServer.isInstalled))
struct LedgerDayTests {
    private static let logger = Logger(label: "test")
    private static let demo = ProjectID(rawValue: "demo")!
    private static let other = ProjectID(rawValue: "other")!
    private static let day: Int64 = 86_400_000

    /// A store on a database of its own, by a clock that the test turns.
    private final class Scene: Sendable {
        let database: String
        let store: SQLStore
        /// The first day that can have a partition of its own.
        let firstDay: Int64
        private let worker: WorkerID
        private let time: LeaseTime
        private let messages = Shared<UInt64>(0)
        private let exports = Shared<Int>(0)

        /// - Parameter database: one that is there; `nil`: a new one.
        init(_ database: String? = nil) async throws {
            let database = if let database { database } else { try await SampleDatabase.make() }
            self.database = database
            let end = try await PostgreSQLServer.shared().execute(
                "SELECT substring(pg_get_expr(relpartbound, oid) FROM 'TO [^0-9]*([0-9]+)') FROM pg_class "
                    + "WHERE relname = 'ledger_block_first'", in: database)
            firstDay = (try #require(Int64(end[0]))) >> 36
            let time = LeaseTime()
            time.turn(to: Timestamp(milliseconds: firstDay * day))
            self.time = time
            store = try Self.open(database, time)
            worker = try await store.enroll("a", for: .milliseconds(1 << 50))
        }

        private static func open(_ database: String, _ time: LeaseTime) throws -> SQLStore {
            try PostgresStore.open(url: database, role: .gateway, leaseTime: { time.now }, logger: logger)
        }

        /// Another node on the same database.
        func another() throws -> SQLStore { try Self.open(database, time) }

        func close() async throws {
            try store.close()
            try await PostgreSQLServer.shared().dropDatabase(database)
        }

        /// Turns the clock to noon of a day, counted from the first one.
        func turn(to number: Int64) {
            time.turn(to: Timestamp(milliseconds: (firstDay + number) * day + day / 2))
        }

        func sql(_ text: String) async throws -> [String] {
            try await PostgreSQLServer.shared().execute(text, in: database)
        }

        /// What each block's id says of its day, counted from the first one, in the order of ids; negative: it is of before.
        func blockDays() async throws -> [Int64] {
            try await sql("SELECT id >> 36 FROM ledger_block ORDER BY id").map { (Int64($0) ?? 0) - firstDay }
        }

        /// The partitions but the first one, by their first days, counted from the first one.
        func partitions() async throws -> [Int64] {
            let engine = try #require(self.store.engine as? PostgresEngine)
            let found = try await engine.withReader { session -> [LedgerPartition] in
                var partitions: Result<[LedgerPartition], any Error> = .success([])
                try session.inSnapshot { partitions = Result { try LedgerPartitionTable(session: session).all() } }
                return try partitions.get()
            }
            return found.compactMap { $0.first.map { ($0 >> 36) - firstDay } }
        }

        /// Looks after the days, once.
        @discardableResult
        func keepDays(longest: Int = 90, of store: SQLStore? = nil) async throws -> Int {
            let progress = try await (store ?? self.store).remove(
                .ledgerDays, by: RetentionRules(standard: RetentionPolicy(ledgerDays: longest)), at: time.now)
            #expect(progress.isDone)
            return progress.count
        }

        /// One round of a housekeeper.
        func removeAll(demo: Int = 1, other: Int = 1) async throws {
            let rules = RetentionRules(
                standard: RetentionPolicy(ledgerDays: 1),
                byProject: [
                    LedgerDayTests.demo: RetentionPolicy(ledgerDays: demo),
                    LedgerDayTests.other: RetentionPolicy(ledgerDays: other),
                ])
            for part in RetentionPart.allCases {
                while !(try await store.remove(part, by: rules, at: time.now)).isDone {}
            }
        }

        func register(_ number: UInt8, in project: ProjectID) async throws -> Registration {
            let token = try #require(DeviceToken(bytes: Array(repeating: number, count: 32)))
            let request = RegistrationRequest(
                project: project, app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(token, .production), appVersion: nil, owner: nil)
            return try await store.register(request, at: time.now).registration
        }

        private func newMessage(
            to recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
        ) -> NewMessage {
            let number = messages.withLock { number in
                number += 1
                return number
            }
            return NewMessage(sampleFor: recipient, in: project, at: time.now.milliseconds, number: number)
        }

        /// Sends to one device, which accepts it at once.
        @discardableResult
        func deliver(in project: ProjectID = demo) async throws -> MessageID {
            let registration = try await register(1, in: project)
            let message = newMessage(to: .registration(registration.key), in: project)
            guard case .accepted(_, let claims)? = try await store.accept([message], claimedBy: worker).first else {
                throw StoreError(.failed, "not accepted")
            }
            try await settle(claims)
            return message.id
        }

        func settle(_ claims: [ClaimedDelivery]) async throws {
            _ = try await store.settle(
                claims.map { $0.ended(at: time.now.milliseconds) }, by: worker)
        }

        /// Sends to three devices of a topic, and claims all.
        func broadcast(at number: Int64) async throws -> (message: MessageID, claims: [ClaimedDelivery]) {
            turn(to: number)
            let topic = try #require(Topic(rawValue: "news"))
            var keys: [RegistrationKey] = []
            for device in 11...13 as ClosedRange<UInt8> {
                keys.append(try await register(device, in: LedgerDayTests.demo).key)
            }
            _ = try await store.subscribe(keys, to: topic, at: time.now)
            let message = try await store.acceptOne(newMessage(to: .topic(topic), in: LedgerDayTests.demo))
            let shard = try #require(try await store.openFanOuts(limitPerProject: 10).first)
            let claim = try await store.claimPage(of: shard.id, limit: 10, held: [], by: worker, at: time.now)
            return (message.id, try #require(claim.page).deliveries)
        }

        /// The export of a project, read in pages of some rows, a second after the one before: nothing is recorded any more in
        /// the time of an export.
        func export(
            _ project: ProjectID = demo, of store: SQLStore? = nil, limit: Int = 2
        ) async throws(StoreError) -> [MessageID] {
            var found: [MessageID] = []
            var cursor: String?
            let seconds = exports.withLock { number in
                number += 1
                return number
            }
            let now = time.now + .seconds(seconds)
            repeat {
                let page = try await (store ?? self.store).export(
                    project: project, from: nil, to: now, at: now, after: cursor, limit: limit)
                found += page.elements.map(\.message)
                cursor = page.nextCursor
            } while cursor != nil
            return found
        }
    }

    // MARK: Commits

    /// What a process counts of its commits, by which one without an answer is found again, goes when it does not go on; and is
    /// right again when it does.
    @Test func countsOfProcessesThatCommitNothingGo() async throws {
        let scene = try await Scene()
        let other = try scene.another()
        func count(of store: SQLStore) async throws -> Int64? {
            let name = try #require(store.engine as? PostgresEngine).commits.name
            return try await scene.sql("SELECT value FROM meta WHERE name = '\(name)'").first.flatMap { Int64($0) }
        }
        _ = try await other.enroll("b", for: .seconds(30))
        let before = try #require(try await count(of: other))
        try await scene.keepDays()
        _ = try await other.enroll("c", for: .seconds(30))
        try await scene.keepDays()
        #expect(try await count(of: other) == before + 1)
        try await scene.keepDays()
        #expect(try await count(of: other) == nil)
        #expect(try await count(of: scene.store) != nil)
        _ = try await other.enroll("d", for: .seconds(30))
        #expect(try await count(of: other) == before + 2)
        try other.close()
        try await scene.close()
    }

    // MARK: Ids

    @Test func idsBeginWithTheirDayAndNeverGoBack() async throws {
        let scene = try await Scene()
        // Before anyone looks after days.
        try await scene.deliver()
        scene.turn(to: 0)
        try await scene.keepDays()
        #expect(try await scene.partitions() == [0, 1, 2])
        try await scene.deliver()
        // Midnight has passed, and no node has looked yet.
        scene.turn(to: 1)
        try await scene.deliver()
        try await scene.keepDays()
        #expect(try await scene.partitions() == [0, 1, 2, 3])
        try await scene.deliver()
        try await scene.keepDays()
        try await scene.deliver()
        // The clock steps back.
        scene.turn(to: -3)
        try await scene.keepDays()
        scene.turn(to: 0)
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays() == [-scene.firstDay, 0, 0, 1, 1, 1])
        #expect(try await scene.partitions() == [0, 1, 2, 3])
        // The next ids are those of the same day.
        #expect(
            try await scene.sql("SELECT max(id) - min(id) FROM ledger_block WHERE id >= \((scene.firstDay + 1) << 36)")
                != ["0"])
        #expect(try await scene.store.check() == [])
        scene.turn(to: 2)
        #expect(try await scene.export().count == 6)
        try await scene.close()
    }

    /// A month in which no gateway looked after days: blocks go on where they were, and then with the day of now.
    @Test func blocksWithoutAPartitionForTheirDayGoOnInTheLastOne() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        try await scene.deliver()
        scene.turn(to: 31)
        try await scene.deliver()
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays() == [0, 0, 31])
        #expect(try await scene.partitions() == [0, 1, 2, 31, 32, 33])
        #expect(try await scene.export().count == 3)

        // Someone moves the sequence to where no partition is, or a copy of the database has it so.
        _ = try await scene.sql("SELECT setval('ledger_block_id_seq', \((scene.firstDay + 50) << 36))")
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays() == [0, 0, 31, 50])
        scene.turn(to: 60)
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.partitions() == [0, 1, 2, 31, 32, 33, 50, 60, 61, 62])
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// A clock that is a year ahead for a moment leads no ids on, which never come back; one that stays there does.
    @Test func aClockThatIsFarAheadIsBelievedTheSecondTime() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        scene.turn(to: 365)
        try await scene.keepDays()
        try await scene.deliver()
        scene.turn(to: 1)
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays() == [0, 1])
        #expect(try await scene.partitions() == [0, 1, 2, 3])

        scene.turn(to: 365)
        try await scene.keepDays()
        try await scene.deliver()
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays() == [0, 1, 1, 365])
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// A sequence that was set back to days without a partition gets one that ends where the next one begins.
    @Test func aPartitionIsMadeBetweenOthers() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays(longest: 1000)
        scene.turn(to: 31)
        try await scene.keepDays(longest: 1000)
        let before = try await scene.partitions()
        let gap = try #require((1...31).first { day in !before.contains { $0 <= day && day < $0 + 10 } })
        _ = try await scene.sql(
            "SELECT setval('ledger_block_id_seq', \((scene.firstDay + Int64(gap)) << 36))")
        scene.turn(to: Int64(gap))
        try await scene.keepDays(longest: 1000)
        try await scene.deliver()
        #expect(try await scene.blockDays() == [Int64(gap)])
        #expect(Set(try await scene.partitions()).subtracting(before).count == 1)
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// Whatever the longest time of a ledger, it is divided into about a hundred parts.
    @Test func aLongLedgerHasPartitionsOfSeveralDays() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays(longest: 3650)
        #expect(try await scene.partitions() == [0])
        for (number, first) in [(36, 0), (37, 37)] as [(Int64, Int64)] {
            scene.turn(to: number)
            try await scene.keepDays(longest: 3650)
            try await scene.deliver()
            #expect(try await scene.blockDays().last == first)
        }
        // A shorter time holds for what comes.
        scene.turn(to: 73)
        try await scene.keepDays(longest: 100)
        #expect(try await scene.partitions() == [0, 37, 74, 75])
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    @Test func nodesThatLookAfterDaysAtOnceMakeEachPartitionOnce() async throws {
        let scene = try await Scene()
        let nodes = try (0..<3).map { _ in try scene.another() }
        for number in [0, 1, 5] as [Int64] {
            scene.turn(to: number)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for node in nodes + [scene.store] { group.addTask { try await scene.keepDays(of: node) } }
                for _ in 0..<4 { group.addTask { try await scene.deliver() } }
                try await group.waitForAll()
            }
            try await scene.deliver()
            #expect(try await scene.blockDays().last == number)
        }
        #expect(try await scene.partitions() == [0, 1, 2, 3, 5, 6, 7])
        #expect(try await scene.export().count == 15)
        #expect(try await scene.store.check() == [])
        for node in nodes { try node.close() }
        try await scene.close()
    }

    // MARK: Retention

    /// A day goes when no project keeps a block of it, and what is kept stays.
    @Test func daysGoWhenNoProjectHasABlockInThem() async throws {
        let scene = try await Scene()
        var kept: MessageID?
        for number in 0...2 as ClosedRange<Int64> {
            scene.turn(to: number)
            try await scene.keepDays()
            try await scene.deliver()
            if number == 1 { kept = try await scene.deliver(in: Self.other) }
        }
        scene.turn(to: 6)
        try await scene.removeAll(demo: 2, other: 20)
        // What is empty goes with the next round: someone may still read what was there.
        #expect(try await scene.partitions() == [0, 1, 2, 3, 4, 6, 7, 8])
        try await scene.removeAll(demo: 2, other: 20)
        #expect(try await scene.partitions() == [1, 6, 7, 8])
        #expect(try await scene.export() == [])
        #expect(try await scene.export(Self.other) == [try #require(kept)])
        #expect(try await scene.store.check() == [])
        // Blocks of now are none of those.
        try await scene.deliver()
        #expect(try await scene.export().count == 1)

        scene.turn(to: 40)
        for _ in 1...2 { try await scene.removeAll(demo: 2, other: 20) }
        #expect(try await scene.partitions() == [40, 41, 42])
        #expect(try await scene.sql("SELECT count(*) FROM ledger_block") == ["0"])
        #expect(try await scene.sql("SELECT count(*) FROM ledger_hour") == ["0"])
        try await scene.deliver()
        #expect(try await scene.blockDays() == [40])
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// A broadcast whose deliveries end on three days: whole in its report, its list and the export, and gone as a whole.
    @Test func aMessageLivesAcrossDays() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        let (message, claims) = try await scene.broadcast(at: 0)
        for (number, claim) in claims.enumerated() {
            scene.turn(to: Int64(number))
            try await scene.keepDays()
            try await scene.settle([claim])
            let report = try #require(try await scene.store.report(message, in: Self.demo))
            #expect(report.ended[.accepted] == number + 1 && report.inFlight == 2 - number)
        }
        #expect(try await scene.blockDays() == [0, 1, 2])
        #expect(try await scene.export(limit: 1) == [message, message, message])
        var listed: [RegistrationID] = []
        var cursor: String?
        repeat {
            let page = try await scene.store.deliveries(
                of: message, in: Self.demo, outcome: nil, after: cursor, limit: 1)
            listed += page.elements.map(\.registration)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(Set(listed).count == 3)
        for claim in claims {
            let now = Timestamp(milliseconds: (scene.firstDay + 2) * Self.day + 1)
            let receipt = Receipt(message: message, kind: .received, time: now)
            #expect(
                try await scene.store.keep([receipt], of: claim.registration.key, in: Self.demo, at: now) == [true])
            let found = try await scene.store.deliveries(
                to: claim.registration.id, in: Self.demo, after: nil, limit: 10)
            #expect(found.elements.map(\.message) == [message])
        }
        #expect(try await scene.store.check() == [])

        // It ended on the third day: until then its first block is past the time of the ledger, and stays.
        scene.turn(to: 3)
        for _ in 1...2 { try await scene.removeAll(demo: 2) }
        #expect(try await scene.blockDays() == [0, 1, 2])
        #expect(try await scene.partitions() == [0, 1, 2, 3, 4, 5])
        scene.turn(to: 5)
        for _ in 1...2 { try await scene.removeAll(demo: 2) }
        #expect(try await scene.partitions() == [5, 6, 7])
        #expect(try await scene.store.report(message, in: Self.demo) == nil)
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// A reader that holds the ledger keeps its partitions for another round, and nothing waits for that.
    @Test func aPartitionInUseGoesLater() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        try await scene.deliver()
        scene.turn(to: 9)
        try await scene.removeAll()
        #expect(try await scene.partitions() == [0, 1, 2, 9, 10, 11])

        let (states, state) = AsyncStream<Void>.makeStream()
        let release = DispatchSemaphore(value: 0)
        let configuration = try PostgreSQLConfiguration(url: scene.database)
        DispatchQueue.global().async {
            let session = PostgreSQLSession(configuration, logger: Self.logger)
            // A failure shows in what is expected below.
            try? session.inSnapshot {
                _ = Result { try session.execute("SELECT 1 FROM ledger_block LIMIT 1") }
                state.yield()
                release.wait()
            }
            session.close()
            state.yield()
        }
        var changes = states.makeAsyncIterator()
        _ = await changes.next()
        #expect(try await scene.keepDays() == 0)
        #expect(try await scene.partitions().contains(0))
        try await scene.deliver()
        release.signal()
        _ = await changes.next()
        #expect(try await scene.keepDays() == 3)
        #expect(try await scene.partitions() == [9, 10, 11])
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }

    /// Exports beside retention are whole from some message on, or say that something was removed: no row is left out.
    @Test func exportsBesideTheEndOfDaysHaveNoGap() async throws {
        let scene = try await Scene()
        var messages: [MessageID] = []
        for number in 0...8 as ClosedRange<Int64> {
            scene.turn(to: number)
            try await scene.keepDays()
            guard number < 8 else { break }
            for _ in 0..<4 { messages.append(try await scene.deliver()) }
        }
        let all = messages
        let reader = try scene.another()
        let isDone = Shared(false)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var exports = 0
                while !Task.isCancelled, !isDone.withLock({ $0 }) || exports == 0 {
                    do throws(StoreError) {
                        let found = try await scene.export(of: reader, limit: 3)
                        #expect(found.count >= 4 && found == all.suffix(found.count), "a gap")
                    } catch {
                        guard case .removed = error.code else { throw error }
                    }
                    exports += 1
                }
                return exports
            }
            // One day after the other.
            for kept in (1...8).reversed() {
                for _ in 1...2 { try await scene.removeAll(demo: kept) }
                #expect(try await scene.partitions().first == Int64(8 - kept))
            }
            isDone.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(try await scene.export(limit: 3) == all.suffix(4))
        #expect(try await scene.store.check() == [])
        try reader.close()
        try await scene.close()
    }

    // MARK: Statements

    /// With a bound of ids a statement reads the partitions of its range only.
    @Test(arguments: [
        ("a block", StoredBlock.byID, "1"), ("a single's entry", MessageTable.entries, "1"),
        ("blocks of an event", EventReader.blocks, "'demo', 1, 2"),
        ("blocks of an export", ExportReader.blocks, "'demo', 1, 2, 0, 9, 10"),
        ("a removed block", LedgerBlockTable.remove, "1"),
        ("blocks of a receipt", ReceiptTable.blocksBetween, "1, 2, 3, 4"),
        ("blocks of ends", RecordedEndReader.blocks, "ARRAY[1, 3], 1, 3"),
    ])
    func boundsOfIDsLeaveOutPartitions(_ name: String, _ sql: String, _ arguments: String) async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        let plan = try await scene.sql(
            """
            SET plan_cache_mode = force_custom_plan; PREPARE hot AS \(StatementText.postgreSQL(sql));
            EXPLAIN (COSTS OFF) EXECUTE hot(\(arguments))
            """)
        let tables = Set(plan.flatMap { line in line.matches(of: /on (ledger_block_(?:first|\d+))\b/).map(\.output.1) })
        #expect(tables == ["ledger_block_first"], "\(plan.joined(separator: "\n"))")
        try await scene.close()
    }

    /// What the server tells of itself, for `doctor`.
    @Test func theServerTellsOfItsDays() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        #expect(try await LedgerDays(of: scene.store).isBegun == false)
        try await scene.keepDays()
        let days = try await LedgerDays(of: scene.store)
        #expect(days.isBegun && days.partitions == 4)
        #expect(days.today == scene.firstDay && days.unprepared == scene.firstDay + 3)
        #expect(days.locks >= 64)
        let counts = try await scene.sql(
            "SELECT count(*) FROM pg_indexes WHERE tablename = 'ledger_block_first'")
        #expect(counts == ["\(LedgerDays.locksOfPartition - 1)"])
        try await scene.close()
    }

    /// No key says that a block's message is there: `doctor --ledger` does.
    @Test func aBlockWithoutItsMessageIsFound() async throws {
        let scene = try await Scene()
        scene.turn(to: 0)
        try await scene.keepDays()
        let (_, claims) = try await scene.broadcast(at: 0)
        try await scene.settle(claims)
        #expect(try await scene.store.check() == [])
        _ = try await scene.sql(
            """
            INSERT INTO ledger_block (message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
            SELECT 4711, project, recorded_at, first_key, last_key, rows, outcomes, entries FROM ledger_block
            """)
        let findings = try await scene.store.check()
        #expect(findings.contains { $0.contains("ledger blocks of messages that are not there: 1") }, "\(findings)")
        try await scene.close()
    }

    // MARK: Other stores

    /// An embedded store is copied into a database that was used by days already: its blocks are of before, and what comes
    /// then is of today.
    @Test func aCopiedStoreGoesOnByDays() async throws {
        let database = try await SampleDatabase.make()
        let empty = try PostgresStore.open(url: database, role: .gateway, logger: Self.logger)
        let rules = RetentionRules(standard: RetentionPolicy())
        _ = try await empty.remove(.ledgerDays, by: rules, at: Timestamp(milliseconds: 0))
        #expect(try await LedgerDays(of: empty).isBegun)
        try empty.close()
        let directory = try TestDirectory()
        let source = try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: Self.logger)
        let token = try #require(DeviceToken(bytes: Array(repeating: 1, count: 32)))
        let request = RegistrationRequest(
            project: Self.demo, app: try #require(AppID(rawValue: "com.example.app")),
            address: .apple(token, .production), appVersion: nil, owner: nil)
        let key = try await source.register(request, at: Timestamp(milliseconds: 1)).registration.key
        let worker = try await source.enroll("a", for: .seconds(30))
        for number in 1...3 as ClosedRange<UInt64> {
            let message = NewMessage(sampleFor: .registration(key), in: Self.demo, at: 1000, number: number)
            guard case .accepted(_, let claims)? = try await source.accept([message], claimedBy: worker).first else {
                throw StoreError(.failed, "not accepted")
            }
            _ = try await source.settle(claims.map { $0.ended() }, by: worker)
        }
        let target = try PostgresStore.open(url: database, role: .command, logger: Self.logger)
        let tables = try await StoreTransfer(from: source.engine, to: target.engine).run { _, _, _ in }
        #expect(tables.first { $0.table == "ledger_block" }?.rows == 3)
        #expect(!tables.contains { $0.table.hasPrefix("ledger_block_") })
        #expect(try await target.check() == [])
        try source.close()
        try target.close()

        let scene = try await Scene(database)
        #expect(try await scene.blockDays() == [0, 0, 0].map { $0 - scene.firstDay })
        scene.turn(to: 1)
        try await scene.keepDays()
        try await scene.deliver()
        #expect(try await scene.blockDays().last == 1)
        #expect(try await scene.export().count == 4)
        #expect(try await scene.store.check() == [])
        try await scene.close()
    }
}
