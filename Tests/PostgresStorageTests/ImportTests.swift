import Logging
import PushModel
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage
@testable import SQLStorage

/// Rows of an import go in together here, and one by one in the embedded store: both end with the same.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct ImportTests {
    private static let project = ProjectID(rawValue: "demo")!
    private static let time = Timestamp(seconds: 1_800_000_000)

    private static func row(_ number: Int, app: String = "com.example.app") throws -> ImportedRegistration {
        let bytes = [0xd7] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        let token = try #require(DeviceToken(bytes: bytes))
        return ImportedRegistration(app: try #require(AppID(rawValue: app)), address: .apple(token, .production))
    }

    /// A FID with a number in it.
    private static func id(_ number: Int) throws -> RegistrationID {
        let digits = String(number)
        return try #require(
            RegistrationID(rawValue: "c" + String(repeating: "A", count: 21 - digits.utf8.count) + digits))
    }

    /// Rows of which some have a FID, a token, a device or an app in common with others, and some too many topics.
    private static func chunk(_ random: inout SeededRandom, size: Int) throws -> [ImportedRegistration] {
        var (devices, tokens): (Set<Int>, Set<Int>) = ([], [])
        return try (0..<size).map { _ in
            var device = Int.random(in: 0..<6000, using: &random)
            // No two rows of a chunk are of one device: else they would be taken one by one here too.
            while !devices.insert(device).inserted { device = Int.random(in: 0..<6000, using: &random) }
            let isOther = Int.random(in: 0..<4, using: &random) == 0
            var row = try row(device, app: isOther ? "com.example.other" : "com.example.app")
            // Mostly that of the device, at times that of another.
            let isOwn = Int.random(in: 0..<20, using: &random) > 0
            row.id = try id(isOwn ? (isOther ? 10_000 : 0) + device : Int.random(in: 0..<16_000, using: &random))
            row.token = RegistrationToken(rawValue: "\(try #require(row.id).rawValue):APA91b\(device)")
            let token = Int.random(in: 0..<20_000, using: &random)
            if token < 1500, tokens.insert(token).inserted {
                // One of the legacy server's, without a FID in front; with or without one of its own.
                row.token = RegistrationToken(rawValue: "an-old-token:of-another-\(token)")
                if Bool.random(using: &random) { row.id = nil }
            }
            if Int.random(in: 0..<8, using: &random) == 0 {
                row.user = UserID(rawValue: "user-\(Int.random(in: 0..<3, using: &random))")
            }
            let topics = Int.random(in: 0..<200, using: &random)
            row.topics = try (0..<(topics == 0 ? 2001 : topics % 4)).map {
                ImportedTopic(try #require(Topic(rawValue: "topic-\($0)")))
            }
            row.refreshedAt = time + .seconds(-Int.random(in: 0..<1000, using: &random))
            row.names = try RegistrationNames(of: row)
            return row
        }
    }

    /// All that a store has, in the order of the FIDs.
    private static func all(_ store: SQLStore) async throws -> [ImportedRegistration] {
        var (rows, last) = ([ImportedRegistration](), RegistrationKey(rawValue: 0))
        while true {
            let page = try await store.exportRegistrations(of: project, after: last, limit: 1000)
            rows += page.rows
            guard !page.isLast else { break }
            last = page.last
        }
        for place in rows.indices { rows[place].topics.sort { $0.topic.rawValue < $1.topic.rawValue } }
        return rows.sorted { ($0.id?.rawValue ?? "") < ($1.id?.rawValue ?? "") }
    }

    /// What the audit logs say, in any order.
    private static func audit(_ store: SQLStore) async throws -> [String] {
        var (entries, cursor) = ([String](), String?.none)
        repeat {
            let page = try await store.auditEntries(AuditFilter(project: project), after: cursor, limit: 1000)
            entries += page.elements.map {
                "\($0.time) \($0.action) \($0.subject) \($0.details.sorted { $0.key < $1.key })"
            }
            cursor = page.nextCursor
        } while cursor != nil
        return entries.sorted()
    }

    /// What registrations say of their changes.
    private static func changes(_ store: SQLStore) async throws -> [[SQLValue]] {
        try await store.read { db in
            let rows = try db.rows(
                """
                SELECT x.time, x.cause, a.name, x.registration, x.former, x.user, x.former_user, x.credential
                FROM registration_audit x JOIN app a ON a.id = x.app ORDER BY x.registration, x.time, x.cause
                """)
            return rows.map { row in (0..<row.count).map { row.value($0) } }
        }
    }

    /// An embedded store, which takes rows one by one, and one on PostgreSQL, which takes them together.
    private struct Pair {
        let embedded: SQLStore
        let shared: SQLStore
        private let directory: TestDirectory
        private let database: String

        init() async throws {
            let logger = Logger(label: "test")
            directory = try TestDirectory()
            database = try await SampleDatabase.make()
            embedded = try SQLiteStore(directory: directory.file("data"), role: .command, logger: logger)
            shared = try PostgresStore.open(url: database, role: .command, logger: logger)
        }

        func close() async throws {
            try embedded.close()
            try shared.close()
            try await PostgreSQLServer.shared().dropDatabase(database)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func rowsTogetherAreTheSameAsRowsOneByOne(seed: UInt64) async throws {
        let pair = try await Pair()
        let (embedded, shared) = (pair.embedded, pair.shared)
        var random = SeededRandom(seed: seed)
        var refusals = 0
        for (line, size) in [1, 1500, 40, 2300].enumerated() {
            let rows = try Self.chunk(&random, size: size)
            let position = ImportPosition(fingerprint: 7, line: Int64(line), offset: 0)
            var refused: [[Int: ImportRefusal]] = []
            for store in [embedded, shared] {
                refused.append(
                    try await store.importRegistrations(
                        rows, into: Self.project, source: "file", position: position, at: Self.time, by: .gateway))
            }
            #expect(refused[0] == refused[1])
            refusals += refused[0].count
            #expect(
                try await embedded.importPosition(of: "file") == (try await shared.importPosition(of: "file")))
        }
        #expect(refusals > 20, "the chunks are to have rows that are refused")
        let (expected, found) = (try await Self.all(embedded), try await Self.all(shared))
        #expect(expected.count > 2000)
        #expect(found == expected)
        #expect(expected.contains { $0.token?.rawValue.hasPrefix("an-old-token") == true })
        let audit = try await Self.audit(embedded)
        #expect(audit.count > 50)
        #expect(try await Self.audit(shared) == audit)
        #expect(try await Self.changes(shared) == (try await Self.changes(embedded)))
        let none = RegistrationKey(rawValue: 0)
        #expect(try await shared.activeRegistrations(of: Self.project, after: none) == expected.count)
        #expect(try await shared.check() == [])
        try await pair.close()
    }

    /// Rows with numbers of their own do not stand in the way of those that get one.
    @Test func registrationsGetNumbersBehindThoseOfAnImport() async throws {
        let database = try await SampleDatabase.make()
        let store = try PostgresStore.open(url: database, role: .command, logger: Logger(label: "test"))
        let position = ImportPosition(fingerprint: 7, line: 1, offset: 1)
        var numbers: [Int64] = []
        for round in 0..<3 {
            let device = try Self.row(100_000 + round)
            let request = RegistrationRequest(
                project: Self.project, app: device.app, address: device.address, appVersion: nil)
            numbers.append(try await store.register(request, at: Self.time).registration.key.rawValue)
            let rows = try (0..<200).map { number in
                var row = try Self.row(round * 200 + number)
                row.names = try RegistrationNames(of: row)
                return row
            }
            let refused = try await store.importRegistrations(
                rows, into: Self.project, source: "file", position: position, at: Self.time, by: .gateway)
            #expect(refused == [:])
        }
        #expect(numbers == [1, 202, 403])
        #expect(try await store.check() == [])
        try store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    @Test(arguments: [1, 2, 300])
    func whoGetsAnAddressThatWasJustLeftIsNoted(count: Int) async throws {
        let database = try await SampleDatabase.make()
        let store = try PostgresStore.open(url: database, role: .command, logger: Logger(label: "test"))
        let rows = try (0...count).map { number in
            var row = try Self.row(number)
            row.names = try RegistrationNames(of: row)
            return row
        }
        let take = { (rows: [ImportedRegistration]) in
            try await store.importRegistrations(
                rows, into: Self.project, source: "file", position: ImportPosition(fingerprint: 7, line: 1, offset: 1),
                at: Self.time, by: .gateway)
        }
        #expect(try await take([rows[0]]) == [:])
        try await store.write { db in
            for (number, row) in rows.enumerated() where number % 2 == 1 {
                try db.post(
                    "INSERT INTO former_holder (app, address, registration) VALUES (1, ?, ?)",
                    [row.address.identity, number + 1000])
            }
        }
        #expect(try await take(Array(rows.dropFirst())) == [:])
        let moves = try await store.read { db in
            try db.rows(
                """
                SELECT r.address, m.former FROM address_move m JOIN registration r ON r.key = m.registration
                ORDER BY m.former
                """
            ).map { row in [row.value(0), row.value(1)] }
        }
        let expected = rows.enumerated().filter { $0.offset % 2 == 1 }.map { number, row in
            [SQLValue.blob(row.address.identity), .number(Int64(number + 1000))]
        }
        #expect(moves == expected)
        try store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    @Test func importRestsWhereAGatewayLives() async throws {
        let (database, now) = (try await SampleDatabase.make(), Shared(Self.time))
        let store = try PostgresStore.open(
            url: database, role: .command, leaseTime: { now.withLock { $0 } }, logger: Logger(label: "test"))
        let take = { (number: Int) in
            try await store.importRegistrations(
                [try Self.row(number)], into: Self.project, source: "file",
                position: ImportPosition(fingerprint: 7, line: 1, offset: 1), at: Self.time, by: .gateway)
        }
        // Before it has looked, too.
        #expect(store.importPace.rest > .zero)
        #expect(try await take(1) == [:])
        #expect(store.importPace.rest == .zero)
        try await store.write { db in
            try db.post(
                "INSERT INTO node (name, version, started, heartbeat) VALUES ('n', '1', 0, ?)",
                [Self.time.milliseconds])
        }
        #expect(try await take(2) == [:])
        #expect(store.importPace.rest > .zero)
        // It was killed.
        now.withLock { $0 = Self.time + .seconds(3600) }
        #expect(try await take(3) == [:])
        #expect(store.importPace.rest == .zero)
        try store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    // MARK: Links

    /// Links of two projects under two prefixes, of which some have a suffix in common.
    private static func links(_ random: inout SeededRandom, size: Int) throws -> [NewLink] {
        let other = try #require(ProjectID(rawValue: "other"))
        return (0..<size).map { _ in
            let isShared = Bool.random(using: &random)
            let isOther = Int.random(in: 0..<5, using: &random) == 0
            let suffix = "s" + String(Int.random(in: 0..<5000, using: &random), radix: 36)
            return NewLink(
                project: isShared && isOther ? other : project,
                prefix: isShared ? "go.example.com" : "go.example.com/own", suffixes: [suffix], kind: .imported,
                parameters: "link=https%3A%2F%2Fa.example%2F\(suffix.count + Int.random(in: 0..<2, using: &random))",
                digest: nil, createdAt: time)
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func linksTogetherAreTheSameAsLinksOneByOne(seed: UInt64) async throws {
        let pair = try await Pair()
        let (embedded, shared) = (pair.embedded, pair.shared)
        var random = SeededRandom(seed: seed)
        var counts: [LinkImport: Int] = [:]
        for size in [1, 30, 2500, 400, 2500] {
            let links = try Self.links(&random, size: size)
            let (expected, found) = (try await embedded.importLinks(links), try await shared.importLinks(links))
            #expect(found == expected)
            for result in found { counts[result, default: 0] += 1 }
        }
        for result in [LinkImport.created, .unchanged, .taken] { #expect(counts[result, default: 0] > 100) }
        for project in ["demo", "other"].compactMap(ProjectID.init(rawValue:)) {
            var all: [[String]] = []
            for store in [embedded, shared] {
                let links = try await store.exportLinks(of: project, after: LinkID(rawValue: 0), limit: 10_000)
                all.append(links.map { "\($0.key.name) \($0.parameters) \($0.kind) \($0.createdAt)" }.sorted())
            }
            #expect(all[0] == all[1] && all[0].count > 100)
        }
        for length in 2...5 {
            for prefix in ["go.example.com", "go.example.com/own"] {
                let count = try await shared.linkCount(of: prefix, .imported, suffixLength: length)
                #expect(count == (try await embedded.linkCount(of: prefix, .imported, suffixLength: length)))
            }
        }
        try await pair.close()
    }
}
