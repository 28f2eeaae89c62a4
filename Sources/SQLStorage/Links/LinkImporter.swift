import PushModel
import Store

/// Makes links by the thousand within one transaction: what they share is looked up once, and their counts are added at the
/// end.
struct LinkImporter {
    /// What links are counted by.
    private struct Sum: Hashable {
        let prefix: Int64
        let kind: LinkKind
        let length: Int
    }

    private let table: LinkTable
    /// Prepared once: to look for it costs as much as a part of the insertion.
    private let insertion: any PreparedStatement
    private var prefixes: [PrefixName: Prefix] = [:]
    private var sums: [Sum: Int] = [:]

    /// A project's prefix by name.
    private struct PrefixName: Hashable {
        let name: String
        let project: ProjectID
    }

    private struct Prefix {
        let id: Int64
        /// Whether other projects have links of this name too: none of their suffixes is given again.
        let isShared: Bool
    }

    init(db: any Database) throws {
        table = LinkTable(db: db)
        insertion = try db.insertion(LinkTable.insertion + " ON CONFLICT (prefix, suffix) DO NOTHING", key: "id")
    }

    /// Takes links; answers in their order. They go in by suffix (``NewLink/orderBySuffix(_:)``).
    mutating func take(_ links: [NewLink]) throws -> [LinkImport] {
        try notePrefixes(of: links)
        var results = [LinkImport](repeating: .taken, count: links.count)
        let order = NewLink.orderBySuffix(links)
        let rest = try table.db.dialect.joinsRows ? takeTogether(links, order, &results) : order
        for index in rest {
            let link = links[index]
            let isNew = try insert(link, packed: PackedParameters.pack(link.parameters)) != nil
            results[index] = try isNew ? .created : known(link) ?? .taken
        }
        try addCounts()
        return results
    }

    /// Takes the first link of each suffix, where each statement goes to a server: what is there is asked for once, and what is
    /// new comes in together.
    ///
    /// - Returns: the others, which come after those.
    private mutating func takeTogether(
        _ links: [NewLink], _ order: [Int], _ results: inout [LinkImport]
    ) throws -> [Int] {
        var (firsts, rest): ([String: [Int]], [Int]) = ([:], [])
        var keys: Set<LinkKey> = []
        for index in order {
            let link = links[index]
            guard let suffix = link.suffixes.first else { continue }
            if keys.insert(LinkKey(prefix: link.prefix, suffix: suffix)).inserted {
                firsts[link.prefix, default: []].append(index)
            } else {
                rest.append(index)
            }
        }
        for (prefix, indices) in firsts.sorted(by: { $0.key < $1.key }) {
            try takeTogether(links, indices, of: prefix, &results)
        }
        return rest
    }

    /// Takes links of one prefix, all with another suffix.
    private mutating func takeTogether(
        _ links: [NewLink], _ indices: [Int], of prefix: String, _ results: inout [LinkImport]
    ) throws {
        let known = try table.find(indices.compactMap { links[$0].suffixes.first }, of: prefix)
        let rows = RowBatch()
        for index in indices {
            let link = links[index]
            guard let suffix = link.suffixes.first,
                let id = prefixes[PrefixName(name: prefix, project: link.project)]?.id
            else { continue }
            if let known = known[suffix] {
                results[index] = Self.result(of: link, known)
                continue
            }
            LinkTable.bind(link, suffix, id, packed: PackedParameters.pack(link.parameters), to: rows)
            rows.endRow()
            note(link, suffix, id)
            results[index] = .created
            if rows.count == RowBatch.limit {
                try table.db.insert(LinkTable.insertion, rows)
                rows.removeAll()
            }
        }
        if rows.count > 0 { try table.db.insert(LinkTable.insertion, rows) }
    }

    /// Makes a link under the first of its suffixes; it is not found by its digest. ``addCounts()`` has to follow.
    ///
    /// - Parameter packed: its parameters, packed.
    /// - Returns: its number; `nil`: the suffix is given already.
    mutating func insert(_ new: NewLink, packed: [UInt8]) throws -> Int64? {
        guard let suffix = new.suffixes.first else { return nil }
        let name = PrefixName(name: new.prefix, project: new.project)
        if prefixes[name] == nil { try notePrefixes(of: [new]) }
        guard let prefix = prefixes[name] else { return nil }
        if prefix.isShared, try table.find(LinkKey(prefix: new.prefix, suffix: suffix)) != nil { return nil }
        LinkTable.bind(new, suffix, prefix.id, packed: packed, to: insertion)
        guard let number = try insertion.insert() else { return nil }
        note(new, suffix, prefix.id)
        return number
    }

    /// Takes note of one that was made.
    private mutating func note(_ new: NewLink, _ suffix: String, _ prefix: Int64) {
        sums[Sum(prefix: prefix, kind: new.kind, length: suffix.utf8.count), default: 0] += 1
    }

    /// Adds what was made to the counts of links.
    mutating func addCounts() throws {
        for (sum, count) in sums {
            try table.db.post(LinkTable.count, [sum.prefix, sum.kind.rawValue, sum.length, count])
        }
        sums = [:]
    }

    /// What becomes of a link whose suffix is given already; `nil`: it is not.
    private func known(_ new: NewLink) throws -> LinkImport? {
        guard let suffix = new.suffixes.first,
            let known = try table.find(LinkKey(prefix: new.prefix, suffix: suffix))
        else { return nil }
        return Self.result(of: new, known)
    }

    /// What becomes of a link beside the one that has its suffix.
    private static func result(of new: NewLink, _ known: Link) -> LinkImport {
        let isSame = known.project == new.project && known.state != .deleted && known.parameters == new.parameters
        return isSame ? .unchanged : .taken
    }

    /// Makes the rows of all prefixes before it looks which of them are shared.
    private mutating func notePrefixes(of links: [NewLink]) throws {
        var ids: [PrefixName: Int64] = [:]
        var last: PrefixName?
        for link in links where link.prefix != last?.name || link.project != last?.project {
            let name = PrefixName(name: link.prefix, project: link.project)
            if ids[name] == nil { ids[name] = try table.prefix(link.prefix, of: link.project) }
            last = name
        }
        for (name, id) in ids {
            let count = try table.db.number(LinkTable.prefixCount, [name.name]) ?? 0
            prefixes[name] = Prefix(id: id, isShared: count > 1)
        }
    }
}
