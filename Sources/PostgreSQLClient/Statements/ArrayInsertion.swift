/// The text of an insertion of several rows, whose parameters are arrays: one statement opens the table and its indexes once,
/// and a row costs a quarter of what it does by itself.
struct ArrayInsertion {
    let text: String

    /// - Parameters:
    ///   - single: inserts one row, and ends with `VALUES ($1, …)`: each parameter once, in their order.
    ///   - columns: the types of its parameters.
    init(_ single: String, columns: [TypeID]) throws(PostgreSQLError) {
        let numbers = columns.indices.map { "$\($0 + 1)" }
        let values = "VALUES (\(numbers.joined(separator: ", ")))"
        guard !columns.isEmpty, single.hasSuffix(values) else {
            throw PostgreSQLError(.misuse, "A statement is no insertion of one row of parameters: \(single)")
        }
        let arrays = zip(numbers, columns).map { "\($0)::\($1)[]" }
        text = single.dropLast(values.count) + "SELECT * FROM unnest(\(arrays.joined(separator: ", ")))"
    }
}
