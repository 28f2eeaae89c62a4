/// Rows on their way into a table by COPY: the values of a row are bound in the order of its columns, then it is ended.
///
/// Rows go out in pieces, each when the one before is on its way, and the first piece when it is full. What the server has
/// against a row it says at the end; from that row on it takes no more.
package final class PostgreSQLCopy {
    private let connection: Connection
    private let text: String
    private var rows: CopyBuffer
    /// Whether the server waits for rows.
    private var isOpen = false
    /// Rows that were ended.
    private var count = 0

    /// Bytes of a piece, beside those of its last row.
    private static let piece = 65_536

    init(_ insertion: RowInsertion, on connection: Connection) throws(PostgreSQLError) {
        self.connection = connection
        text = try insertion.copy()
        rows = CopyBuffer(of: insertion.columns)
    }

    package func bind(_ number: Int64) { rows.append(.number(number)) }

    package func bindNull() { rows.append(.null) }

    package func bind(_ text: String) { rows.append(.text(text)) }

    /// Binds a text that is there as bytes.
    package func bind(utf8 bytes: [UInt8]) { rows.append(.utf8(bytes)) }

    package func bind(blob bytes: [UInt8]) { rows.append(.blob(bytes)) }

    /// Ends a row: the next value is the first one of another.
    ///
    /// - Throws: `.misuse` when its values don't fit its columns; or why rows could not be sent.
    package func endRow() throws(PostgreSQLError) {
        count += 1
        if let misfit = rows.endRow() {
            throw PostgreSQLError(.misuse, "In row \(count) of a COPY \(misfit).", row: count)
        }
        if rows.bytes.count > Self.piece { try send() }
    }

    private func send() throws(PostgreSQLError) {
        if !isOpen {
            try connection.beginCopy(text)
            isOpen = true
        }
        try connection.sendRows(rows.bytes, from: rows.start)
        rows.removeAll()
    }

    /// Sends what is left and waits for what the server says of the rows.
    ///
    /// - Returns: how many rows there were.
    func finish() throws(PostgreSQLError) -> Int {
        guard count > 0 else { return 0 }
        rows.appendEnd()
        try send()
        isOpen = false
        let taken = try connection.endCopy()
        guard taken == count else {
            let error = PostgreSQLError(.protocolViolation, "Of \(count) rows of a COPY the database took \(taken).")
            connection.abandon(error)
            throw error
        }
        return taken
    }

    /// Has the server forget the rows that it was sent, if there are any.
    ///
    /// - Throws: what the server says of that: always an error.
    func takeBack() throws(PostgreSQLError) {
        guard isOpen else { return }
        isOpen = false
        _ = try connection.endCopy(takingBack: "its rows were taken back")
    }
}
