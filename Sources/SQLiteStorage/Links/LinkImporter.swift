import Foundation
import GRDB
import PushModel
import Store

/// Takes over links within one transaction.
struct LinkImporter {
    /// What links are counted by.
    private struct Sum: Hashable {
        let prefix: Int64
        let kind: LinkKind
        let length: Int
    }

    private let table: LinkTable
    private var prefixes: [NewLinkPrefix: Int64] = [:]
    private var sums: [Sum: Int] = [:]

    /// A project's prefix by name.
    private struct NewLinkPrefix: Hashable {
        let name: String
        let project: ProjectID
    }

    init(db: Database) {
        table = LinkTable(db: db)
    }

    /// Takes links; answers in their order. They go in by suffix, so that those with neighbouring suffixes change a page
    /// of the index once.
    mutating func take(_ links: [NewLink]) throws -> [LinkImport] {
        var results = [LinkImport](repeating: .taken, count: links.count)
        let order = links.indices.sorted { left, right in
            let (first, second) = (links[left].suffixes.first ?? "", links[right].suffixes.first ?? "")
            return first == second ? left < right : first < second
        }
        for index in order { results[index] = try take(links[index]) }
        for (sum, count) in sums {
            try table.db.change(LinkTable.count, [sum.prefix, sum.kind.rawValue, sum.length, count])
        }
        return results
    }

    private mutating func take(_ new: NewLink) throws -> LinkImport {
        guard let suffix = new.suffixes.first else { return .taken }
        if let known = try table.find(LinkKey(prefix: new.prefix, suffix: suffix)) {
            let isSame =
                known.project == new.project && known.state != .deleted && known.parameters == new.parameters
            return isSame ? .unchanged : .taken
        }
        let prefix = try prefix(of: new)
        _ = try table.insert(new, suffix, prefix)
        sums[Sum(prefix: prefix, kind: new.kind, length: suffix.utf8.count), default: 0] += 1
        return .created
    }

    private mutating func prefix(of new: NewLink) throws -> Int64 {
        let name = NewLinkPrefix(name: new.prefix, project: new.project)
        if let known = prefixes[name] { return known }
        let id = try table.prefix(new.prefix, of: new.project)
        prefixes[name] = id
        return id
    }
}
