/// The insertion of one row, and the texts for several: a statement for many rows opens the table and its indexes once.
struct RowInsertion {
    /// The types of its columns.
    let columns: [TypeID]
    private let values: String
    private let beginning: Substring

    /// - Parameters:
    ///   - single: inserts one row, and ends with `VALUES ($1, …)`: each parameter once, in their order.
    ///   - columns: the types of its parameters.
    init(_ single: String, columns: [TypeID]) throws(PostgreSQLError) {
        self.columns = columns
        values = "VALUES (\(columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
        guard !columns.isEmpty, single.hasPrefix(Self.insertion), single.hasSuffix(values) else {
            throw PostgreSQLError(.misuse, "A statement is no insertion of one row of parameters: \(single)")
        }
        beginning = single.dropLast(values.count)
    }

    private static let insertion = "INSERT INTO "

    /// With an array of each column as its parameters: a row costs a quarter of what it does by itself.
    var ofArrays: String {
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1)[]" }
        return beginning + "SELECT * FROM unnest(\(arrays.joined(separator: ", ")))"
    }

    /// Takes rows in the binary format.
    var copy: String {
        "COPY " + beginning.dropFirst(Self.insertion.count) + "FROM STDIN (FORMAT binary)"
    }
}
