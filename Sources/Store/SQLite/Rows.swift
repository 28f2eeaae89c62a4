import Foundation
import GRDB
import PushModel

// How rows become values. Columns are read by position: names would be looked up for every row.

extension TextIdentifier {
    /// The identifier that a column holds.
    init(stored text: String) throws {
        guard let value = Self(rawValue: text) else { throw StoreError.invalid("a \(Self.self)") }
        self = value
    }
}

extension RawRepresentable where RawValue == String {
    /// The case that a column holds.
    init(storedCase text: String) throws {
        guard let value = Self(rawValue: text) else { throw StoreError.invalid("a \(Self.self)") }
        self = value
    }
}

extension Timestamp {
    /// The time that a column holds.
    init?(stored milliseconds: Int64?) {
        guard let milliseconds else { return nil }
        self.init(milliseconds: milliseconds)
    }
}

extension Registration {
    /// The columns that ``init(row:from:)`` reads, of a registration named `r`.
    static let columns = """
        r.key, r.fid, r.token, r.project, r.app, r.device_token, r.environment, r.app_version, r.created_at, \
        r.refreshed_at, r.ended_at, r.end_cause, r.proven_at, r.quarantined_at, r.quarantine_reason
        """

    /// Reads ``columns``, which begin at `start`.
    init(row: Row, from start: Int = 0) throws {
        guard let deviceToken = DeviceToken(bytes: [UInt8](row[start + 5] as Data)) else {
            throw StoreError.invalid("a device token")
        }
        let cause: String? = row[start + 11]
        let end = try cause.map {
            RegistrationEnd(time: Timestamp(milliseconds: row[start + 10]), cause: try .init(storedCase: $0))
        }
        let reason: String? = row[start + 14]
        let quarantine = reason.map {
            Quarantine(time: Timestamp(milliseconds: row[start + 13]), reason: APNSReason(rawValue: $0))
        }
        self.init(
            key: RegistrationKey(rawValue: row[start]), id: try RegistrationID(stored: row[start + 1]),
            token: try RegistrationToken(stored: row[start + 2]), project: try ProjectID(stored: row[start + 3]),
            app: try AppID(stored: row[start + 4]), deviceToken: deviceToken,
            environment: try APNSEnvironment(storedCase: row[start + 6]), appVersion: row[start + 7],
            createdAt: Timestamp(milliseconds: row[start + 8]), refreshedAt: Timestamp(milliseconds: row[start + 9]),
            end: end, provenAt: Timestamp(stored: row[start + 12]), quarantine: quarantine)
    }
}

extension AttemptHistory {
    /// Reads attempts, unknown attempts and last cause, which begin at `start`.
    init(row: Row, from start: Int) {
        self.init(attempts: row[start], unknownAttempts: row[start + 1], lastCause: row[start + 2])
    }
}

extension Lane {
    /// The lane as a column holds it.
    var code: Int { self == .interactive ? 0 : 1 }

    /// The lane that a column holds.
    init(code: Int) { self = code == 0 ? .interactive : .bulk }
}

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
