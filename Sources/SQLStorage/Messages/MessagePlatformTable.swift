import PushModel
import Store

/// What messages are on each platform, where that differs, within one transaction. Most messages have no row.
struct MessagePlatformTable {
    let db: any Database

    private static let insert = """
        INSERT INTO message_platform (message, platform, collapse_key, priority, time_to_live, expires_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """
    static let facts = """
        SELECT f.message, f.platform, f.collapse_key, f.priority, f.time_to_live FROM numbers(?) k
        CROSS JOIN message_platform f ON f.message = k.value
        """
    static let remove = "DELETE FROM message_platform WHERE message = ?"
    static let removeCollapseKeys = "UPDATE message_platform SET collapse_key = NULL WHERE message = ?"

    func insert(_ platforms: [Platform: PlatformFacts], of message: Int64) throws {
        for (platform, facts) in platforms {
            try db.post(
                Self.insert,
                [
                    message, platform.code, facts.collapseKey, facts.priority, facts.timeToLiveSeconds,
                    facts.expiresAt.milliseconds,
                ])
        }
    }

    /// What lists show of deliveries of these messages: one question for all, and none for messages to one registration.
    func differences(of messages: some Sequence<LedgerMessage>) throws -> PlatformDifferences {
        var differences = PlatformDifferences()
        let seqs = Set(messages.lazy.filter { !$0.isSingle }.map(\.seq)).sorted()
        guard !seqs.isEmpty else { return differences }
        let rows = try db.cursor(Self.facts, [seqs])
        while let row = try rows.next() {
            let part = PlatformDifferences.Part(message: row[0], platform: try Platform(stored: row[1]))
            differences.parts[part] = (row[2], row[3], row[4])
        }
        return differences
    }
}

/// What some messages are on each platform, where that differs.
struct PlatformDifferences {
    /// A message on one platform.
    struct Part: Hashable {
        let message: Int64
        let platform: Platform
    }

    fileprivate(set) var parts: [Part: (collapseKey: String?, priority: Int, timeToLiveSeconds: Int64)] = [:]

    /// What a list shows of a message beside a delivery on a platform.
    func facts(of message: LedgerMessage, on platform: Platform) -> MessageFacts {
        var facts = message.facts
        if let part = parts[Part(message: message.seq, platform: platform)] {
            (facts.collapseKey, facts.priority, facts.timeToLiveSeconds) = part
        }
        return facts
    }
}
