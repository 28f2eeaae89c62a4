/// The insertion of one row, and the texts for several: a statement for many rows opens the table and its indexes once.
struct RowInsertion {
    /// The types of its columns.
    let columns: [TypeID]
    private let beginning: Substring
    /// What is done on a conflict; empty: it is an error.
    private let conflict: Substring

    /// - Parameters:
    ///   - single: inserts one row, with `VALUES ($1, …)`: each parameter once, in their order. Behind it at most
    ///     `ON CONFLICT …` without parameters.
    ///   - columns: the types of its parameters.
    init(_ single: String, columns: [TypeID]) throws(PostgreSQLError) {
        self.columns = columns
        let values = "VALUES (\(columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
        let parts = single.split(separator: values, omittingEmptySubsequences: false)
        guard !columns.isEmpty, parts.count == 2, parts[0].hasPrefix(Self.insertion), !parts[1].contains("$"),
            parts[1].isEmpty || parts[1].trimmingPrefix(while: \.isWhitespace).hasPrefix("ON CONFLICT ")
        else { throw PostgreSQLError(.misuse, "A statement is no insertion of one row of parameters: \(single)") }
        (beginning, conflict) = (parts[0], parts[1])
    }

    private static let insertion = "INSERT INTO "

    /// With an array of each column as its parameters: a row costs a quarter of what it does by itself.
    var ofArrays: String {
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1)[]" }
        return beginning + "SELECT * FROM unnest(\(arrays.joined(separator: ", ")))" + conflict
    }

    /// Takes rows in the binary format.
    ///
    /// - Throws: `.misuse` when something is done on a conflict: COPY knows none.
    func copy() throws(PostgreSQLError) -> String {
        guard conflict.isEmpty else {
            throw PostgreSQLError(.misuse, "A COPY can't do \(conflict.trimmingPrefix(while: \.isWhitespace))")
        }
        return "COPY " + beginning.dropFirst(Self.insertion.count) + "FROM STDIN (FORMAT binary)"
    }
}
