import Foundation
import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Notices between processes.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(2)))
struct ListenerTests {
    private func listener(
        _ database: TestDatabase
    ) throws -> (listener: PostgreSQLListener, heard: AsyncStream<Set<String>>) {
        let (heard, continuation) = AsyncStream<Set<String>>.makeStream()
        let listener = try PostgreSQLListener(database.configuration, channel: "news", logger: Logger(label: "test")) {
            continuation.yield($0)
        }
        listener.start()
        return (listener, heard)
    }

    private func close(_ listeners: PostgreSQLListener...) async throws {
        try await onThread { for listener in listeners { listener.close() } }
    }

    @Test func othersHearANoticeAndTheSenderDoesNot() async throws {
        let database = try await TestDatabase()
        let (one, heardByOne) = try listener(database)
        let (other, heardByOther) = try listener(database)
        var (first, second) = (heardByOne.makeAsyncIterator(), heardByOther.makeAsyncIterator())
        // Both stand.
        #expect(await first.next() == [PostgreSQLListener.everything])
        #expect(await second.next() == [PostgreSQLListener.everything])
        one.notify("work")
        #expect(await second.next() == ["work"])
        other.notify("events")
        #expect(await first.next() == ["events"])
        try await close(one, other)
    }

    @Test func manyNoticesBecomeFew() async throws {
        let database = try await TestDatabase()
        let (one, heardByOne) = try listener(database)
        let (other, heardByOther) = try listener(database)
        var (first, second) = (heardByOne.makeAsyncIterator(), heardByOther.makeAsyncIterator())
        _ = await (first.next(), second.next())
        for _ in 0..<1000 { one.notify("work") }
        one.notify("last")
        var count = 0
        while let notices = await second.next() {
            count += 1
            if notices.contains("last") { break }
        }
        #expect(count <= 10)
        try await close(one, other)
    }

    @Test func everythingMayHaveChangedAfterANewConnection() async throws {
        let database = try await TestDatabase()
        let (one, heard) = try listener(database)
        var iterator = heard.makeAsyncIterator()
        #expect(await iterator.next() == [PostgreSQLListener.everything])
        try await database.server.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """, in: database.url)
        #expect(await iterator.next() == [PostgreSQLListener.everything])
        try await close(one)
    }
}
