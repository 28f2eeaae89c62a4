import PushModel
import Store

/// Registration keys in ascending order, read from the store a few hundred at a time: memory does not depend on how many
/// there are. Valid within the snapshot that it was made in.
struct KeyStream {
    /// Where the keys come from.
    enum Source {
        /// Who subscribed to a topic by the time of subscription `number`.
        case topic(Int64, number: Int64)
        /// The active registrations of apps.
        case apps([Int64])
        /// The list of a message.
        case list(Int64)
        /// What was set aside for a shard.
        case setAside(OpenFanOut.ID)
    }

    static let topic = """
        SELECT registration FROM subscription
        WHERE topic = ? AND registration > ? AND registration <= ? AND number <= ? ORDER BY registration LIMIT 500
        """
    static let app = """
        SELECT key FROM registration INDEXED BY registration_by_app
        WHERE app = ? AND ended_at IS NULL AND channel < 4 AND key > ? AND key <= ? ORDER BY key LIMIT \(step)
        """
    /// Keys that one statement reads.
    private static let step = 500
    static let list = "SELECT keys FROM message_list WHERE message = ? AND last_key > ? ORDER BY last_key LIMIT 1"

    static let setAside = """
        SELECT keys FROM set_aside WHERE message = ? AND shard = ? AND last_key > ? ORDER BY last_key LIMIT 1
        """

    private let db: any Database
    private let source: Source
    /// The last key that there can be.
    private let last: Int64
    /// Keys up to this one were read.
    private var read: Int64
    private var keys: [Int64] = []
    private var next = 0
    private var isAtEnd = false

    /// Begins after key `after` and ends with `last` at the latest.
    init(_ source: Source, after: Int64, last: Int64, in db: any Database) {
        self.db = db
        self.source = source
        self.last = last
        read = after
    }

    /// The next key, which is not taken; `nil` at the end.
    mutating func peek() throws -> Int64? {
        if next == keys.count { try fill() }
        return next < keys.count ? keys[next] : nil
    }

    /// Goes past the next key.
    mutating func advance() {
        next += 1
    }

    /// Goes to the first key that is `key` or greater.
    mutating func seek(_ key: Int64) {
        while next < keys.count, keys[next] < key { next += 1 }
        if next == keys.count { read = max(read, key - 1) }
    }

    private mutating func fill() throws {
        guard !isAtEnd, read < last else { return }
        next = 0
        switch source {
        case .topic(let id, let number):
            keys = try db.numbers(Self.topic, [id, read, last, number])
        case .apps(let apps):
            try fill(apps)
        case .list(let message):
            try fill(Self.list, [message, read])
        case .setAside(let shard):
            try fill(Self.setAside, [shard.message, shard.shard, read])
        }
        if let newest = keys.last { read = newest } else { isAtEnd = true }
    }

    /// Reads on in each app. What lies beyond the end of a list that goes on is read again with the next step.
    private mutating func fill(_ apps: [Int64]) throws {
        var bound = last
        keys.removeAll(keepingCapacity: true)
        for app in apps {
            let found = try db.numbers(Self.app, [app, read, last])
            if found.count == Self.step, let end = found.last { bound = min(bound, end) }
            keys += found
        }
        guard apps.count > 1 else { return }
        keys = keys.filter { $0 <= bound }.sorted()
    }

    private mutating func fill(_ sql: String, _ arguments: SQLArguments) throws {
        let chunk = try db.bytes(sql, arguments)
        keys = try chunk.map { try PackedKeys.keys($0).filter { read < $0 && $0 <= last } } ?? []
    }
}
