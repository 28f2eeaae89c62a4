import AsyncHTTPClient
import Foundation
import GRDB
import Simulators
import TestSupport
import Testing

/// A database file with garbage in it: named, served around, and no reason to end.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)))
struct DamageTests {
    @Test(arguments: ["ledger_block", "message"])
    func aDamagedFileIsNamedAndWhatIsSoundIsServed(table: String) async throws {
        try await GatewayUnderTest.with { test in
            var process = try await test.start()
            var steps = FaultSteps(process: process, keys: test.keys)
            let early = try await APIClient(baseURL: process.baseURL, key: test.keys.client)
                .register(deviceToken: "0a1b2c3d")
            _ = try await WholeGatewayTests.registerDevices(200, process, test.keys)
            for number in 0..<20 {
                let sent = try await steps.broadcast("before-\(number)")
                try await steps.expectComplete([try #require(try sent.json["name"] as? String)], recipients: 200)
            }
            #expect(await process.end(with: SIGTERM) == 0)
            _ = try await Self.moveAllIntoTheDatabase(test)
            for page in try await Self.pages(of: table, test) {
                try Self.damage(test, from: page.start, count: page.count)
            }

            process = try await test.start()
            steps = FaultSteps(process: process, keys: test.keys)
            try await steps.until("met") {
                for number in 0..<20 { _ = try await steps.broadcast("after-\(number)") }
                _ = try await steps.sender.get("/v1/projects/demo/messages?pageSize=1000")
                return try await steps.problems() != nil
            }
            let problems = try #require(try await steps.problems())
            #expect(problems.contains { $0.contains("/data/herald.db is damaged") }, "\(problems)")
            #expect(try await steps.sender.get("/healthz").status == 200)
            let client = APIClient(baseURL: process.baseURL, key: test.keys.client)
            let found = try await client.get("/v1/projects/demo/registrations/\(early)")
            #expect(found.status == 200, "the row of the first registration is sound: \(found.text)")
            let doctor = try await GatewayProcess.run(["doctor", "--ledger", "--config", test.configuration])
            #expect(doctor.status == 1, "\(doctor.lines)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aGatewayWithoutAReadableDatabaseWaitsForTheBackup() async throws {
        try await GatewayUnderTest.with { test in
            let first = try await test.start()
            let devices = try await WholeGatewayTests.registerDevices(10, first, test.keys)
            #expect(await first.end(with: SIGTERM) == 0)
            let size = try await Self.moveAllIntoTheDatabase(test)
            let backup = try Data(contentsOf: Self.database(test))
            try Self.damage(test, from: 0, count: size)

            // The gateway that waits and its successor both take the port of the first.
            let port = String(first.baseURL.split(separator: ":").last ?? "0")
            let process = try await test.start(environment: ["HERALD_LISTEN_PORT": port])
            let steps = FaultSteps(process: process, keys: test.keys)
            try await steps.untilAlive()
            try await steps.expectRefusals(2)
            let problems = try #require(try await steps.problems())
            #expect(problems.contains { $0.contains("/data") && $0.contains("damaged") }, "\(problems)")
            try backup.write(to: Self.database(test))
            try await steps.untilReady()
            let sent = try await steps.broadcast("after")
            try await steps.expectComplete(
                [try #require(try sent.json["name"] as? String)], recipients: devices.count)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    private static func database(_ test: GatewayUnderTest) -> URL {
        URL(filePath: test.directory.file("data/herald.db"))
    }

    /// A gateway that ended leaves what it wrote last in the write-ahead log. Gives the size of the database then.
    private static func moveAllIntoTheDatabase(_ test: GatewayUnderTest) async throws -> Int {
        let queue = try DatabaseQueue(path: database(test).path())
        try await queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
        return try FileManager.default.attributesOfItem(atPath: database(test).path())[.size] as? Int ?? 0
    }

    /// Where the rows of a table are in the file, in bytes: every page of it but its root.
    private static func pages(of table: String, _ test: GatewayUnderTest) async throws -> [(start: Int, count: Int)] {
        let queue = try DatabaseQueue(path: database(test).path())
        let pages = try await queue.read { db in
            try Row.fetchAll(
                db, sql: "SELECT pgoffset, pgsize FROM dbstat WHERE name = ? AND path <> '/' ORDER BY pageno",
                arguments: [table]
            ).map { (start: $0[0] as Int, count: $0[1] as Int) }
        }
        try queue.close()
        #expect(!pages.isEmpty, "\(table) has no more than one page")
        return pages
    }

    /// Writes garbage into the file; `count` bytes from `start`.
    private static func damage(_ test: GatewayUnderTest, from start: Int, count: Int) throws {
        let handle = try FileHandle(forUpdating: database(test))
        try handle.seek(toOffset: UInt64(start))
        try handle.write(contentsOf: Data(repeating: 0xa5, count: count))
        try handle.close()
    }
}
