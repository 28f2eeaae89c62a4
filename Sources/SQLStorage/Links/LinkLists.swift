import PushModel
import Store

/// Lists links of a project, by the index that has them by prefix and visibility.
struct LinkLists {
    let db: any Database
    let project: ProjectID

    static let newest = """
        SELECT id FROM link INDEXED BY link_listed
        WHERE prefix = ? AND visibility = ? AND state <> 2 AND id < ? ORDER BY id DESC LIMIT ?
        """
    static let oldest = """
        SELECT id FROM link INDEXED BY link_listed
        WHERE prefix = ? AND visibility = ? AND state <> 2 AND id > ? ORDER BY id LIMIT ?
        """

    /// Links before `id`, the newest first.
    func page(_ filter: LinkFilter, before id: Int64, limit: Int) throws -> ResultPage<Link> {
        var ids = try ids(Self.newest, filter, id, limit: limit + 1).sorted(by: >)
        let isMore = ids.count > limit
        ids.removeLast(max(0, ids.count - limit))
        let cursor = isMore ? ids.last.map { PageCursor(.links, after: $0).text } : nil
        return ResultPage(elements: try links(ids), nextCursor: cursor)
    }

    /// Links behind `id`, the oldest first.
    func rows(after id: Int64, limit: Int) throws -> [Link] {
        let all = LinkFilter(visibilities: Set(LinkVisibility.allCases))
        return try links(ids(Self.oldest, all, id, limit: limit).sorted().prefix(limit))
    }

    /// The first numbers of each prefix and visibility: those that the list begins with are among them.
    private func ids(_ sql: String, _ filter: LinkFilter, _ bound: Int64, limit: Int) throws -> [Int64] {
        let rows = try db.rows(LinkTable.prefixIDs, [project.rawValue])
        var ids: [Int64] = []
        for row in rows where filter.prefix == nil || filter.prefix == row[1] {
            let prefix: Int64 = row[0]
            for visibility in filter.visibilities {
                ids += try db.numbers(sql, [prefix, visibility.rawValue, bound, limit])
            }
        }
        return ids
    }

    private func links(_ ids: some Sequence<Int64>) throws -> [Link] {
        try ids.compactMap { id in try db.row(LinkTable.byID, [id]).map { try Link(row: $0) } }
    }
}
