import GRDB
import PushModel
import Store

/// The links that were made with messages, within one transaction.
struct MessageLinkTable {
    let db: Database

    static let insertion = "INSERT INTO message_link (message, link) VALUES (?, ?)"
    static let ofMessage = """
        SELECT \(Link.columns) FROM message m CROSS JOIN message_link s ON s.message = m.seq
        CROSS JOIN link l ON l.id = s.link CROSS JOIN link_prefix p ON p.id = l.prefix
        WHERE m.id = ? AND m.project = ? ORDER BY s.link
        """

    /// Makes the links of a message.
    ///
    /// - Throws: `.unavailable` when a suffix is taken, which stands in the message: of 96 random bits, it is not a second
    ///   time.
    func make(_ links: [NewLink], of message: Int64) throws {
        for new in links {
            guard case .created(let link) = try LinkTable(db: db).create(new) else {
                throw StoreError(.unavailable, "The suffix of a message's link is taken.")
            }
            try db.change(Self.insertion, [message, link.id.rawValue])
        }
    }

    /// The links of a message with their sums.
    func links(of message: MessageID, in project: ProjectID) throws -> [MessageLink] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: Self.ofMessage), arguments: [message.rawValue, project.rawValue])
        return try rows.map { row in
            let link = try Link(row: row)
            return MessageLink(link: link, counts: try LinkCountTable(db: db).sums(of: link.id))
        }
    }
}
