package import PushModel
package import Store

/// Makes links of the rows of a file, or says why a row is refused. What a row may lead to is judged as that of a link that
/// is made by the API: a file is no way around the project's targets.
package struct LinkRowReader: Sendable {
    /// What the file's prefixes became, by the name of the old one.
    package typealias Mapping = [String: LinkPrefix]

    private let project: Project
    private let check: LinkCheck
    private let prefixes: Mapping
    private let taken: [String: TakenPaths]
    /// A prefix of the project, for the texts of refusals.
    private let example: LinkPrefix?
    private let columns: [LinkColumn]
    /// The places of columns, those of parameters in the order of their names: so each is appended to those before it.
    private let order: [Int]
    private let hasHeader: Bool
    private let now: Timestamp

    /// Takes the header from the front of a file. Without one the columns are Google's, in their order; a record without a
    /// slash in it has no link, and is a header.
    ///
    /// - Parameters:
    ///   - others: the prefixes of other projects.
    ///   - mapping: what stands in the file for which prefix of the project, beside these themselves.
    ///   - now: when links were made of which the file does not say it.
    /// - Throws: ``LinkRefusal`` for a file that is no CSV, a header that has a column twice, an unknown one, or no short links;
    ///   ``LinkProblem`` for a policy that is none; the errors of the file.
    package init(
        project: Project, settings: LinkSettings, others: [LinkPrefix] = [], reading file: inout CSVReader,
        mapping: Mapping, now: Timestamp
    ) throws {
        self.project = project
        self.now = now
        check = LinkCheck(project: project, policy: try LinkPolicy(settings))
        let own = Dictionary(uniqueKeysWithValues: settings.prefixes.map { ($0.name, $0) })
        prefixes = own.merging(mapping) { $1 }
        taken = own.mapValues { TakenPaths(below: $0, own: settings.prefixes, others: others) }
        example = settings.prefixes.first
        if let problem = file.formProblem { throw LinkRefusal(line: 1, reason: problem) }
        let header = try file.next(if: { record in
            guard case .fields(let fields) = record.content else { return false }
            return fields.first.flatMap(LinkColumn.init(title:)) != nil || !fields.contains { $0.contains("/") }
        })
        hasHeader = header != nil
        columns = try header.map { header throws(LinkRefusal) in try Self.columns(header) } ?? LinkColumn.google
        order = columns.indices.sorted { [columns] in columns[$0].rank < columns[$1].rank }
    }

    private static func columns(_ header: CSVRecord) throws(LinkRefusal) -> [LinkColumn] {
        guard case .fields(let titles) = header.content else { return LinkColumn.google }
        func refusal(_ reason: String) -> LinkRefusal { LinkRefusal(line: header.line, reason: "header: \(reason)") }
        var columns: [LinkColumn] = []
        for (index, title) in titles.enumerated() {
            guard let column = LinkColumn(title: title) else {
                let known = LinkColumn.all.map(\.title).joined(separator: ", ")
                throw refusal("field \(index + 1), \(title.quotedExcerpt), is no column; there are \(known)")
            }
            guard !columns.contains(column) else {
                throw refusal("the column '\(column.title)' stands twice; leave one out")
            }
            columns.append(column)
        }
        for column in [LinkColumn.shortLink, .parameter(.link)] where !columns.contains(column) {
            throw refusal("the column '\(column.title)' is missing; each row needs it")
        }
        return columns
    }

    /// The link of a row.
    package func link(_ record: CSVRecord) throws(LinkRefusal) -> NewLink {
        let row = try row(record)
        let (prefix, suffix) = try place(row)
        let query: String
        do throws(LinkProblem) {
            query = try check.query(of: row.parameters)
        } catch {
            let value = error.parameter.flatMap { row.parameters[$0] }
            throw row.refusal(
                error.parameter.map(LinkColumn.parameter),
                value.map { "\($0.quotedExcerpt) \(error.message)" } ?? error.message)
        }
        return NewLink(
            project: project.id, prefix: prefix.name, suffixes: [suffix], kind: .imported,
            parameters: query, name: row.name,
            visibility: row.isArchived ? .archived : row.name == nil ? .neverShown : .unarchived,
            createdAt: row.createdAt)
    }

    private func row(_ record: CSVRecord) throws(LinkRefusal) -> LinkRow {
        var row = LinkRow(line: record.line, now: now)
        let fields: [String]
        switch record.content {
        case .fields(let found): fields = found
        case .malformed(let problem): throw row.refusal(nil, problem)
        }
        guard fields.count == columns.count else {
            let expected =
                hasHeader
                ? "the header has \(columns.count)"
                : "Google's export has \(columns.count); name the columns in a header if these are others"
            throw row.refusal(nil, "the row has \(fields.count) fields, \(expected)")
        }
        // The link first: each refusal names it.
        if let index = columns.firstIndex(of: .shortLink), !fields[index].isEmpty {
            row.shortLink = CSVCell.original(fields[index])
        }
        for index in order where !fields[index].isEmpty {
            try row.take(CSVCell.original(fields[index]), of: columns[index])
        }
        return row
    }

    /// Where a link stands: its suffix to the letter, its prefix as the mapping has it.
    private func place(_ row: LinkRow) throws(LinkRefusal) -> (LinkPrefix, String) {
        let form = "write it like \(example?.url ?? "https://go.example.com")/aB3x"
        guard let url = row.shortLink else { throw row.refusal(.shortLink, "empty; \(form)") }
        let text = Self.withoutScheme(url)
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            throw row.refusal(.shortLink, "\(url.quotedExcerpt) is no short link; \(form)")
        }
        let suffix = String(text[text.utf8.index(after: slash)...])
        guard let prefix = prefixes[String(text[..<slash])] ?? prefixes[Self.prefixName(text[..<slash])] else {
            let name = Self.prefixName(text[..<slash])
            throw row.refusal(
                .shortLink,
                "\(name.quotedExcerpt) is no prefix of the project; add it to links.prefixes, or map it to one "
                    + "(--map \(name.prefix(60))=\(example?.name ?? "go.example.com"))")
        }
        if let problem = LinkSuffix.customProblem(suffix) ?? taken[prefix.name]?.problem(of: suffix) {
            throw row.refusal(.shortLink, "the suffix \(problem)")
        }
        return (prefix, suffix)
    }

    private static func withoutScheme(_ url: String) -> Substring {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url.utf8[colon...].starts(with: "://".utf8) else {
            return url[...]
        }
        return url[url.utf8.index(colon, offsetBy: 3)...]
    }

    /// A prefix with its host in lower case.
    private static func prefixName(_ text: Substring) -> String {
        let host = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        return text[..<host].lowercased() + text[host...]
    }
}
