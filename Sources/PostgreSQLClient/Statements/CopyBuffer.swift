/// Rows in the binary format of COPY, as far as they are still to be sent: a head, then for each row the count of its columns
/// and their values as ``ParameterBuffer`` has them, each behind its length, then an end
/// (postgresql.org/docs/15/sql-copy.html, "Binary Format").
struct CopyBuffer {
    private let types: [TypeID]
    private var values = ParameterBuffer()
    /// Columns of the row so far.
    private var column = 0

    /// The signature, flags and the length of an extension: none.
    private static let head = Array("PGCOPY\n".utf8) + [0xff, 0x0d, 0x0a, 0x00] + [UInt8](repeating: 0, count: 8)
    /// In place of a count of columns.
    private static let end: [UInt8] = [0xff, 0xff]

    /// - Parameter types: those of the columns.
    init(of types: [TypeID]) {
        self.types = types
        values.append(raw: Self.head)
    }

    /// What is to be sent, from the place ``start`` on.
    var bytes: [UInt8] { values.bytes }
    var start: Int { 1 }

    /// Appends the next column of the row.
    mutating func append(_ value: ArrayElement) {
        if column == 0 { values.append(raw: [UInt8(types.count >> 8), UInt8(types.count & 0xff)]) }
        if column < types.count { values.append(value, as: types[column], column: column + 1) }
        column += 1
    }

    /// Ends the row.
    ///
    /// - Returns: what is wrong with it; `nil`: nothing.
    mutating func endRow() -> String? {
        defer { column = 0 }
        guard column == types.count else { return "there are \(types.count) columns, and \(column) were bound" }
        return values.misfit
    }

    mutating func appendEnd() { values.append(raw: Self.end) }

    /// What there is was sent.
    mutating func removeAll() { values.removeAll() }
}
