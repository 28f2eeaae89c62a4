import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage

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
        var devices: Set<Int> = []
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

    @Test(arguments: [1, 2, 3] as [UInt64])
    func rowsTogetherAreTheSameAsRowsOneByOne(seed: UInt64) async throws {
        let directory = try TestDirectory()
        let database = try await SampleDatabase.make()
        let logger = Logger(label: "test")
        let embedded: SQLStore = try SQLiteStore(directory: directory.file("data"), role: .command, logger: logger)
        let shared = try PostgresStore.open(url: database, role: .command, logger: logger)
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
        let none = RegistrationKey(rawValue: 0)
        #expect(try await shared.activeRegistrations(of: Self.project, after: none) == expected.count)
        #expect(try await shared.check() == [])
        try embedded.close()
        try shared.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }
}
