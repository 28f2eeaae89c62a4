import Foundation
import GRDB
import PushModel
import Store

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

extension APNSEnvironment {
    /// The environment as `registration.environment` holds it.
    var code: Int { self == .production ? 0 : 1 }

    /// The environment that `registration.environment` holds.
    init(code: Int) { self = code == 0 ? .production : .sandbox }
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
