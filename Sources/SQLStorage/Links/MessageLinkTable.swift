import PushModel
import Store

/// The links that were made with messages, within one transaction.
struct MessageLinkTable {
    let db: any Database

    static let insertion = "INSERT INTO message_link (message, link) VALUES (?, ?)"
    static let ofMessage = """
        SELECT \(Link.columns) FROM message_link s CROSS JOIN link l ON l.id = s.link CROSS JOIN link_prefix p ON p.id = l.prefix
        WHERE s.message = (SELECT seq FROM every_message WHERE id = ? AND project = ?) ORDER BY s.link
        """

    /// The links of a message with their sums.
    func links(of message: MessageID, in project: ProjectID) throws -> [MessageLink] {
        let rows = try db.rows(Self.ofMessage, [message.column, project.rawValue])
        return try rows.map { row in
            let link = try Link(row: row)
            return MessageLink(link: link, counts: try LinkCountTable(db: db).sums(of: link.id))
        }
    }
}

/// Makes the links of messages within one transaction. Messages that share it mostly say the same links.
struct MessageLinkWriter {
    /// So many packed texts are kept.
    private static let packedLimit = 64

    private let db: any Database
    private var links: LinkImporter
    private var texts: [String: [UInt8]] = [:]

    init(db: any Database) throws {
        self.db = db
        links = try LinkImporter(db: db)
    }

    /// Makes the links of a message. ``finish()`` has to follow.
    ///
    /// - Throws: `.unavailable` when a suffix is taken, which stands in the message: of 96 random bits, it is not a second
    ///   time.
    mutating func make(_ new: [NewLink], of message: Int64) throws {
        for link in new {
            guard let id = try links.insert(link, packed: packed(link.parameters)) else {
                throw StoreError(.unavailable, "The suffix of a message's link is taken.")
            }
            try db.post(MessageLinkTable.insertion, [message, id])
        }
    }

    /// Ends the transaction's part of it.
    mutating func finish() throws { try links.addCounts() }

    private mutating func packed(_ parameters: String) -> [UInt8] {
        if let known = texts[parameters] { return known }
        let data = PackedParameters.pack(parameters)
        if texts.count < Self.packedLimit { texts[parameters] = data }
        return data
    }
}
