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

extension MessageID {
    /// The id that a column holds, as ``packed`` makes it.
    init(column bytes: [UInt8]) throws {
        guard let id = Self(packed: bytes) else { throw StoreError.invalid("a message id") }
        self = id
    }

    /// What a column holds.
    var column: [UInt8] { packed }
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

extension Channel {
    /// The channel as `registration.channel` and `route.channel` hold it.
    var code: Int {
        switch self {
        case .apns(.production): 0
        case .apns(.sandbox): 1
        case .fcm: 2
        case .webPush: 3
        case .broadcast(.production): 4
        case .broadcast(.sandbox): 5
        }
    }

    /// The channel that a column holds.
    init(stored code: Int) throws {
        switch code {
        case 0: self = .apns(.production)
        case 1: self = .apns(.sandbox)
        case 2: self = .fcm
        case 3: self = .webPush
        case 4: self = .broadcast(.production)
        case 5: self = .broadcast(.sandbox)
        default: throw StoreError.invalid("a channel")
        }
    }
}

extension Platform {
    /// The platform as `app.platform` holds it.
    var code: Int {
        switch self {
        case .apple: 0
        case .android: 1
        case .web: 2
        }
    }

    /// The platform that a column holds.
    init(stored code: Int) throws {
        switch code {
        case 0: self = .apple
        case 1: self = .android
        case 2: self = .web
        default: throw StoreError.invalid("a platform")
        }
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
