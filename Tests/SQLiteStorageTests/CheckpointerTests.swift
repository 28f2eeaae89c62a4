import Foundation
import GRDB
import Logging
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// The log reaches the database beside the connection that writes.
@Suite(.timeLimit(.minutes(5)))
struct CheckpointerTests {
    private let directory: TestDirectory
    private let path: String
    private let writer: DatabaseQueue
    private let checkpointer: Checkpointer

    init() throws {
        directory = try TestDirectory()
        path = directory.file("checkpoints.sqlite")
        writer = try DatabaseQueue(path: path, configuration: SQLiteEngine.configuration)
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; CREATE TABLE item (bytes BLOB)")
        }
        checkpointer = try Checkpointer(
            path: path, configuration: SQLiteEngine.configuration, logger: Logger(label: "test"))
    }

    private func insert(_ text: String, pages: Int = 1) throws {
        try writer.write { db in
            let bytes = Data(text.utf8) + Data(count: pages * 4000)
            try db.execute(sql: "INSERT INTO item VALUES (?)", arguments: [bytes])
        }
        writer.writeWithoutTransaction { db in checkpointer.noteCommit(pages: WrittenPages.take(db)) }
    }

    private func isCopied(_ text: String) throws -> Bool {
        try Data(contentsOf: URL(filePath: path)).range(of: Data(text.utf8)) != nil
    }

    /// Pages in the log; copies it, too.
    private func logPages() throws -> Int {
        try writer.writeWithoutTransaction { db in
            try GRDB.Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(PASSIVE)").map { $0[1] } ?? 0
        }
    }

    @Test func afterEnoughCommitsTheDatabaseHasThem() throws {
        try insert("the first one")
        #expect(try !isCopied("the first one"))
        for number in 2...400 { try insert("number \(number)", pages: 4) }
        checkpointer.finishCopy()
        #expect(try isCopied("the first one"))
    }

    @Test func aLogThatGrewLongBeginsAnew() throws {
        try insert("the first one")
        let reader = try reader()
        // Until it ends nothing behind its snapshot is copied, and SQLite goes on with the same log.
        try reader.writeWithoutTransaction { db in try db.execute(sql: "BEGIN; SELECT count(*) FROM item") }
        for number in 1...100 { try insert("number \(number)", pages: Checkpointer.catchUpPages / 90) }
        checkpointer.finishCopy()
        #expect(try logPagesUnlessCopied() > Checkpointer.catchUpPages)
        #expect(try !isCopied("number 100"))
        try reader.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
        writer.writeWithoutTransaction { db in checkpointer.catchUp(db) }
        #expect(try isCopied("number 100"))
        try insert("in a new log")
        #expect(try logPages() < 10)
    }

    /// Commits come faster than they are copied: there is a copy under way whenever the writer looks.
    @Test func aLogThatIsAlwaysBeingCopiedBeginsAnew() throws {
        let gate = DispatchSemaphore(value: 0)
        checkpointer.database.asyncWriteWithoutTransaction { _ in gate.wait() }
        let count = Checkpointer.catchUpPages * Checkpointer.waitFactor / 1000 + 1
        for number in 1...count { try insert("number \(number)", pages: 1000) }
        // Until now the writer goes on.
        writer.writeWithoutTransaction { db in checkpointer.noteCommit(pages: 0) }
        #expect(try !isCopied("number \(count)"))
        DispatchQueue.global().async { gate.signal() }
        writer.writeWithoutTransaction { db in checkpointer.catchUp(db) }
        #expect(try isCopied("number \(count)"))
        try insert("in a new log")
        #expect(try logPages() < 10)
    }

    private func reader() throws -> DatabaseQueue {
        var configuration = SQLiteEngine.configuration
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// However large the commits are, and whatever they were before.
    @Test func aLogOfLargeCommitsStaysSmall() throws {
        for number in 1...300 { try insert("number \(number)") }
        for number in 1...60 {
            try insert("large \(number)", pages: 400)
            checkpointer.finishCopy()
            writer.writeWithoutTransaction { db in checkpointer.catchUp(db) }
        }
        #expect(try logPagesUnlessCopied() < Checkpointer.catchUpPages + 2 * 400)
    }

    /// By the size of the file: looking by a checkpoint would copy.
    private func logPagesUnlessCopied() throws -> Int {
        let bytes = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0
        return bytes / 4120
    }
}
