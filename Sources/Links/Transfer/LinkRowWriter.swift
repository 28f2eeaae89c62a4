package import PushModel
package import Store

/// Writes links as rows of a file that ``LinkRowReader`` reads.
package struct LinkRowWriter: Sendable {
    private let columns: [LinkColumn]
    private let prefixes: [String: LinkPrefix]

    /// - Parameters:
    ///   - hasAllParameters: also the parameters that Google's columns have no place for.
    ///   - settings: whose prefixes have their scheme and port here.
    package init(hasAllParameters: Bool, settings: LinkSettings) {
        columns = hasAllParameters ? LinkColumn.all : LinkColumn.google
        prefixes = Dictionary(uniqueKeysWithValues: settings.prefixes.map { ($0.name, $0) })
    }

    /// Appends the titles of the columns with a line end.
    package func appendHeader(to bytes: inout [UInt8]) {
        append(columns.map(\.title), to: &bytes)
    }

    /// Appends a link with a line end.
    ///
    /// - Returns: whether all of its parameters have a column.
    @discardableResult
    package func append(_ link: Link, to bytes: inout [UInt8]) -> Bool {
        let parameters = LinkParameters(query: link.parameters)
        append(columns.map { text($0, link, parameters) }, to: &bytes)
        return parameters.all.allSatisfy { columns.contains(.parameter($0.parameter)) }
    }

    private func text(_ column: LinkColumn, _ link: Link, _ parameters: LinkParameters) -> String {
        switch column {
        case .shortLink:
            (prefixes[link.key.prefix]?.url ?? "https://\(link.key.prefix)") + "/\(link.key.suffix)"
        case .parameter(let parameter): parameters[parameter] ?? ""
        case .isArchived: link.visibility == .archived ? "true" : "false"
        case .name: link.name ?? ""
        case .createdAt: link.createdAt.rfc3339
        }
    }

    private func append(_ fields: [String], to bytes: inout [UInt8]) {
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: CSVCell.quoted(CSVCell.inert(field)).utf8)
        }
        bytes.append(contentsOf: [0x0d, 0x0a])
    }
}
