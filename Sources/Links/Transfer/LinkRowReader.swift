package import PushModel
package import Store

/// Why a row of a file is not taken.
package struct LinkRefusal: Error, Hashable, Sendable {
    /// The number of the line that the row begins on.
    package var line: Int
    /// The short link as the file has it; `nil`: it could not be read.
    package var shortLink: String?
    /// A sentence for the operator.
    package var reason: String
}

/// Makes links of the rows of a file, or says why a row is refused. What a row may lead to is judged as that of a link that
/// the API makes: a file is no way around the project's targets.
package struct LinkRowReader: Sendable {
    /// What the file's prefixes became, by the name of the old one.
    package typealias Mapping = [String: LinkPrefix]

    private let project: Project
    private let check: LinkCheck
    private let prefixes: Mapping
    private let columns: [LinkColumn]
    private let now: Timestamp

    /// Takes the header from the front of a file. Without one the columns are Google's, in their order.
    ///
    /// - Parameters:
    ///   - mapping: what stands in the file for which prefix of the project, beside these themselves.
    ///   - now: when links were made of which the file does not say it.
    /// - Throws: ``LinkRefusal`` for a header that has a column twice, an unknown one, or no short links;
    ///   ``LinkProblem`` for a policy that is none; the errors of the file.
    package init(
        project: Project, settings: LinkSettings, reading file: inout CSVReader, mapping: Mapping, now: Timestamp
    ) throws {
        self.project = project
        self.now = now
        check = LinkCheck(project: project, policy: try LinkPolicy(settings))
        var prefixes = Dictionary(uniqueKeysWithValues: settings.prefixes.map { ($0.name, $0) })
        prefixes.merge(mapping) { $1 }
        self.prefixes = prefixes
        let header = try file.next(if: { record in
            guard case .fields(let fields) = record.content else { return false }
            return fields.first.flatMap(LinkColumn.init(title:)) != nil
        })
        guard case .fields(let titles) = header?.content else {
            columns = LinkColumn.google
            return
        }
        columns = try Self.columns(titles)
    }

    private static func columns(_ titles: [String]) throws(LinkRefusal) -> [LinkColumn] {
        var columns: [LinkColumn] = []
        for title in titles {
            guard let column = LinkColumn(title: title) else {
                throw LinkRefusal(line: 1, reason: "there is no column '\(title.prefix(40))'")
            }
            guard !columns.contains(column) else { throw LinkRefusal(line: 1, reason: "'\(title)' stands twice") }
            columns.append(column)
        }
        guard columns.contains(.shortLink), columns.contains(.parameter(.link)) else {
            throw LinkRefusal(line: 1, reason: "the columns 'Short link' and 'link' are missing")
        }
        return columns
    }

    /// The link of a row.
    package func link(_ record: CSVRecord) throws(LinkRefusal) -> NewLink {
        guard case .fields(let fields) = record.content else {
            guard case .malformed(let problem) = record.content else {
                throw LinkRefusal(line: record.line, reason: "")
            }
            throw LinkRefusal(line: record.line, reason: problem)
        }
        guard fields.count == columns.count else {
            throw LinkRefusal(
                line: record.line, reason: "has \(fields.count) fields, there are \(columns.count) columns")
        }
        var row = Row(line: record.line, createdAt: now)
        for (column, field) in zip(columns, fields) where !field.isEmpty {
            row.take(CSVCell.original(field), of: column)
        }
        let (prefix, suffix) = try place(row)
        let query: String
        do {
            query = try check.query(of: row.parameters)
        } catch {
            throw row.refusal(error.description)
        }
        return NewLink(
            project: project.id, prefix: prefix.name, suffixes: [suffix], kind: .imported,
            parameters: query, name: row.name,
            visibility: row.isArchived ? .archived : row.name == nil ? .neverShown : .unarchived,
            createdAt: row.createdAt)
    }

    /// Where a link stands: its suffix to the letter, its prefix as the mapping has it.
    private func place(_ row: Row) throws(LinkRefusal) -> (LinkPrefix, String) {
        guard let url = row.shortLink else { throw row.refusal("has no short link") }
        let text = Self.withoutScheme(url)
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { throw row.refusal("is no short link") }
        let suffix = String(text[text.utf8.index(after: slash)...])
        guard let prefix = prefixes[String(text[..<slash])] ?? prefixes[Self.prefixName(text[..<slash])] else {
            throw row.refusal("its prefix \(Self.prefixName(text[..<slash])) is none of the project; map it to one")
        }
        if let problem = LinkSuffix.customProblem(suffix) { throw row.refusal("its suffix \(problem)") }
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

/// What a row says.
private struct Row {
    let line: Int
    var shortLink: String?
    var parameters = LinkParameters()
    var isArchived = false
    var name: String?
    var createdAt: Timestamp

    init(line: Int, createdAt: Timestamp) {
        self.line = line
        self.createdAt = createdAt
    }

    mutating func take(_ text: String, of column: LinkColumn) {
        switch column {
        case .shortLink: shortLink = text
        case .parameter(.forcedRedirect):
            // A column of truth values, whose "false" is the same as nothing.
            if LinkParameters.boolean(text) != false { parameters[.forcedRedirect] = "1" }
        case .parameter(let parameter): parameters[parameter] = text
        case .isArchived: isArchived = LinkParameters.boolean(text) ?? (text.lowercased() == "yes")
        case .name: name = text
        case .createdAt: createdAt = Self.time(text) ?? createdAt
        }
    }

    func refusal(_ reason: String) -> LinkRefusal {
        LinkRefusal(line: line, shortLink: shortLink, reason: reason)
    }

    /// RFC 3339, also with a space for the T and without a zone or with " UTC", or seconds or milliseconds since 1970.
    private static func time(_ text: String) -> Timestamp? {
        if let number = Int64(text) {
            let time = Timestamp(milliseconds: number < 100_000_000_000 ? number * 1000 : number)
            return (0...253_402_300_799).contains(time.seconds) ? time : nil
        }
        if let time = Timestamp(rfc3339: text) { return time }
        var plain = text.replacing(" UTC", with: "Z").replacing(" ", with: "T")
        if let time = Timestamp(rfc3339: plain) { return time }
        plain += "Z"
        return Timestamp(rfc3339: plain)
    }
}
