import PushModel
import Store

/// A message with all of its rows that needs no database: it is made while others write.
struct PreparedMessage: Sendable {
    /// So many keys of a list are in a row.
    private static let chunkSize = 1000
    /// The most shards of a message: more than that find no worker.
    static let shardLimit: Int64 = 16

    let message: NewMessage
    /// The text of the message's content.
    let source: [UInt8]
    /// The keys of a list that becomes a fan-out, packed.
    let chunks: [(last: RegistrationKey, keys: [UInt8])]

    /// - Throws: `.failed` for a list that is too long or not in order.
    init(_ message: NewMessage) throws(StoreError) {
        self.message = message
        source = message.content.bytes
        switch message.recipient {
        case .registration, .topic, .condition: chunks = []
        case .list(let keys), .user(_, let keys): chunks = try Self.pack(keys)
        }
    }

    private static func pack(_ keys: [RegistrationKey]) throws(StoreError) -> [(last: RegistrationKey, keys: [UInt8])] {
        guard zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }), keys.count <= NewMessage.listLimit else {
            throw StoreError(.failed, "A list of registrations is too long or not in order.")
        }
        guard keys.count > NewMessage.smallListLimit else { return [] }
        return stride(from: 0, to: keys.count, by: chunkSize).map { start in
            let chunk = keys[start..<min(start + chunkSize, keys.count)]
            return (chunk[chunk.endIndex - 1], PackedKeys.data(chunk.map(\.rawValue)))
        }
    }

    /// About how many rows accepting it changes: with the counts and indexes, a message is as much work as two or three
    /// deliveries.
    var rows: Int {
        LinkTable.rowsOfLink * message.links.count + message.platforms.count + rowsWithoutLinks
    }

    private var rowsWithoutLinks: Int {
        switch message.recipient {
        case .registration: 4
        case .topic, .condition: 3 + Int(Self.shardLimit)
        case .list(let keys), .user(_, let keys):
            chunks.isEmpty ? 3 + keys.count : 3 + chunks.count + Int(Self.shardLimit)
        }
    }
}
