import Logging
import PostgresStorage
import PushModel
import SQLStorage
import Store
import StoreConformance
import TestSupport
import Testing

/// What an erasure on a server says of the files, which are the server's.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct ErasureTests {
    @Test func filesOfTheServerAreNotKnownToBeClean() async throws {
        try await ReusedDatabase.with { url in
            let store = try PostgresStore.open(url: url, role: .gateway, logger: Logger(label: "test"))
            let erased = try await store.erase(
                try #require(UserID(rawValue: "alice")), in: try #require(ProjectID(rawValue: "demo")),
                standIn: try #require(UserID(rawValue: "erased:1")), at: Timestamp(milliseconds: 1000))
            #expect(erased.obstacle == .server)
            // There is nothing that trying again would change.
            #expect(!store.hasUncleanFiles)
            try store.close()
        }
    }
}
