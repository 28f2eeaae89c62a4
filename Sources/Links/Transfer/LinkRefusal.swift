/// Why a row of a file is not taken.
package struct LinkRefusal: Error, Hashable, Sendable {
    /// The number of the line that the row begins on.
    package var line: Int
    /// The title of the column at fault; `nil`: the row as a whole.
    package var column: String?
    /// The short link as the file has it; `nil`: it could not be read.
    package var shortLink: String?
    /// For the operator: the value, what is wrong with it, and what would be right.
    package var reason: String

    /// Column and reason.
    package var text: String { (column.map { "column '\($0)': " } ?? "") + reason }
}

extension String {
    /// The beginning of a value in quotes, for messages.
    var quotedExcerpt: String { "\"\(prefix(60))\(count > 60 ? "…" : "")\"" }
}
