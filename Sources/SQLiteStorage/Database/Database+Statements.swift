import Foundation
import GRDB
import PushModel
import Store

extension Database {
    /// The first row of a cached statement.
    func row(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The number in the first column of the first row of a cached statement.
    func number(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try Int64.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Runs a cached statement that changes rows, and says how many (not counting those that triggers change).
    @discardableResult
    func change(_ sql: String, _ arguments: StatementArguments) throws -> Int {
        try cachedStatement(sql: sql).execute(arguments: arguments)
        return changesCount
    }
}
