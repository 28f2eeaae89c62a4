import Logging
import PostgresStorage
import PushModel
import SQLStorage
import Store
import StoreConformance
import Synchronization
import TestSupport

/// Databases of the tests' server, each with the tables of a store and nothing in them.
enum SampleDatabase {
    private static let template = Mutex<Task<String, any Error>?>(nil)

    /// Makes one: a copy of one that a store has made, which takes less time than making the tables.
    ///
    /// - Returns: its URL.
    static func make() async throws -> String {
        let task = template.withLock { task in
            if let task { return task }
            let new = Task {
                let database = try await PostgreSQLServer.shared().makeDatabase()
                try PostgresStore.open(url: database, role: .command, logger: Logger(label: "test")).close()
                return database
            }
            task = new
            return new
        }
        return try await PostgreSQLServer.shared().makeDatabase(copyOf: task.value)
    }
}

extension MessageStore {
    /// Accepts one message that was not there before, and claims nothing of it.
    func acceptOne(_ message: NewMessage) async throws(StoreError) -> Message {
        guard case .accepted(let message, _)? = try await accept([message], claimedBy: nil).first else {
            throw StoreError(.failed, "The message was there before.")
        }
        return message
    }
}
