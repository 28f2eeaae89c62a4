import PushModel
import Store

/// Short links within one transaction.
struct LinkTable {
    let db: any Database

    static let prefixID = "SELECT id FROM link_prefix WHERE name = ? AND project = ?"
    static let prefixCount = "SELECT count(*) FROM link_prefix WHERE name = ?"
    static let prefixNames = "SELECT name, project FROM link_prefix WHERE id = ?"
    static let prefixIDs = "SELECT id, name FROM link_prefix INDEXED BY link_prefix_by_project WHERE project = ?"
    static let byKey = """
        SELECT \(Link.columns) FROM link_prefix p CROSS JOIN link l INDEXED BY link_suffix
        ON l.prefix = p.id AND l.suffix = ?2 WHERE p.name = ?1
        """
    /// Links of one prefix, of whatever projects; for PostgreSQL.
    static let bySuffixes = """
        SELECT \(Link.columns) FROM link_prefix p CROSS JOIN texts(?2) n
        CROSS JOIN LATERAL (SELECT * FROM link WHERE prefix = p.id AND suffix = n.value LIMIT 1) l
        WHERE p.name = ?1
        """
    static let byID = "SELECT \(Link.columns) FROM link l CROSS JOIN link_prefix p ON p.id = l.prefix WHERE l.id = ?"
    static let byDigest = """
        SELECT \(Link.columns), l.is_changed FROM link_digest d CROSS JOIN link l ON l.id = d.link
        CROSS JOIN link_prefix p ON p.id = l.prefix WHERE d.prefix = ? AND d.kind = ? AND d.digest = ?
        """
    static let insertion = """
        INSERT INTO link (prefix, suffix, kind, visibility, created_at, expires_at, name, parameters)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let update = """
        UPDATE link SET visibility = ?2, state = ?3, expires_at = ?4, name = ?5, parameters = ?6,
            is_changed = CASE WHEN parameters <> ?6 THEN 1 ELSE is_changed END
        WHERE id = ?1
        """
    static let keepDigest = """
        INSERT INTO link_digest (prefix, kind, digest, link) VALUES (?, ?, ?, ?)
        ON CONFLICT (prefix, kind, digest) DO UPDATE SET link = excluded.link
        """
    static let count = """
        INSERT INTO link_sum (prefix, kind, length, count) VALUES (?, ?, ?, ?)
        ON CONFLICT (prefix, kind, length) DO UPDATE SET count = link_sum.count + excluded.count
        """
    static let sum = """
        SELECT sum(s.count) FROM link_prefix p CROSS JOIN link_sum s ON s.prefix = p.id AND s.kind = ?2 AND s.length = ?3
        WHERE p.name = ?1
        """

    /// About how many rows making a link changes, with the row of its digest or message.
    static let rowsOfLink = 4

    /// The number of a project's prefix; the row is made if it is new.
    func prefix(_ name: String, of project: ProjectID) throws -> Int64 {
        if let known = try db.number(Self.prefixID, [name, project.rawValue]) { return known }
        return try db.insert(
            "INSERT INTO link_prefix (name, project) VALUES (?, ?)", [name, project.rawValue], key: "id")
    }

    func find(_ key: LinkKey) throws -> Link? {
        try db.row(Self.byKey, [key.prefix, key.suffix]).map { try Link(row: $0) }
    }

    /// The links of a prefix that have one of the suffixes, by these.
    func find(_ suffixes: [String], of prefix: String) throws -> [String: Link] {
        let found = try db.cursor(Self.bySuffixes, [prefix, suffixes])
        var links: [String: Link] = [:]
        while let row = try found.next() {
            let link = try Link(row: row)
            if links[link.key.suffix] == nil { links[link.key.suffix] = link }
        }
        return links
    }

    /// Makes a link or finds it, see ``LinkStore/create(_:audit:)``.
    func create(_ new: NewLink) throws -> LinkCreation {
        let prefix = try prefix(new.prefix, of: new.project)
        if let known = try same(as: new, prefix) { return .existing(known) }
        for suffix in new.suffixes where try find(LinkKey(prefix: new.prefix, suffix: suffix)) == nil {
            let link = try insert(new, suffix, prefix)
            try db.change(Self.count, [prefix, new.kind.rawValue, suffix.utf8.count, 1])
            if let digest = new.digest {
                try db.change(Self.keepDigest, [prefix, new.kind.rawValue, digest, link.id.rawValue])
            }
            return .created(link)
        }
        return .taken
    }

    /// Changes a link; `nil`: it is not the project's, or deleted.
    func change(
        _ key: LinkKey, of project: ProjectID, _ change: LinkChange
    ) throws -> (before: Link, after: Link)? {
        guard let before = try find(key), before.project == project, before.state != .deleted else { return nil }
        let after = change.applied(to: before)
        if after != before {
            try db.change(
                Self.update,
                [
                    after.id.rawValue, after.visibility.rawValue, after.state.rawValue, after.expiresAt?.milliseconds,
                    after.name, PackedParameters.pack(after.parameters),
                ])
        }
        return (before, after)
    }

    /// A link of the same project, prefix, kind and digest that may stand for a new one.
    private func same(as new: NewLink, _ prefix: Int64) throws -> Link? {
        guard let digest = new.digest,
            let row = try db.row(Self.byDigest, [prefix, new.kind.rawValue, digest])
        else { return nil }
        let link = try Link(row: row)
        let isOver = link.expiresAt.map { $0 <= new.createdAt } ?? false
        return link.state == .deleted || row[Link.columnCount] || isOver ? nil : link
    }

    /// Binds what ``insertion`` takes.
    static func bind(
        _ new: NewLink, _ suffix: String, _ prefix: Int64, packed parameters: [UInt8], to row: any ParameterBinder
    ) {
        row.bind(prefix)
        row.bind(suffix)
        row.bind(new.kind.rawValue)
        row.bind(new.visibility.rawValue)
        row.bind(new.createdAt.milliseconds)
        row.bind(new.expiresAt?.milliseconds)
        row.bind(new.name)
        row.bind(blob: parameters)
    }

    func insert(_ new: NewLink, _ suffix: String, _ prefix: Int64) throws -> Link {
        let insertion = try db.insertion(Self.insertion, key: "id")
        Self.bind(new, suffix, prefix, packed: PackedParameters.pack(new.parameters), to: insertion)
        guard let id = try insertion.insert() else { throw StoreError(.failed, "A link was not inserted.") }
        return Link(
            id: LinkID(rawValue: id), project: new.project,
            key: LinkKey(prefix: new.prefix, suffix: suffix), kind: new.kind, parameters: new.parameters,
            name: new.name, visibility: new.visibility, createdAt: new.createdAt, expiresAt: new.expiresAt)
    }
}

extension Link {
    /// What ``init(row:)`` reads, of `link` as `l` and `link_prefix` as `p`.
    static let columns = """
        l.id, p.project, p.name, l.suffix, l.kind, l.parameters, l.name, l.visibility, l.state, l.created_at, l.expires_at
        """
    static let columnCount = 11

    init(row: Row) throws {
        guard let kind = LinkKind(rawValue: row[4]), let visibility = LinkVisibility(rawValue: row[7]),
            let state = LinkState(rawValue: row[8])
        else { throw StoreError.invalid("a link") }
        let parameters: String
        do {
            parameters = try PackedParameters.unpack(row[5] as [UInt8])
        } catch {
            throw StoreError.invalid("parameters of a link")
        }
        self.init(
            id: LinkID(rawValue: row[0]), project: try ProjectID(stored: row[1]),
            key: LinkKey(prefix: row[2], suffix: row[3]), kind: kind, parameters: parameters, name: row[6],
            visibility: visibility, state: state, createdAt: Timestamp(milliseconds: row[9]),
            expiresAt: Timestamp(stored: row[10]))
    }
}

extension LinkChange {
    fileprivate func applied(to link: Link) -> Link {
        var link = link
        if let parameters { link.parameters = parameters }
        if let name { link.name = name }
        if let visibility { link.visibility = visibility }
        if let state { link.state = state }
        if let expiresAt { link.expiresAt = expiresAt }
        return link
    }
}
