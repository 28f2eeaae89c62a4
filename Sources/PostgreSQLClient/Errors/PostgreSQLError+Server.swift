import CPostgreSQL

extension PostgreSQLError {
    /// What the server said of a statement that it refused.
    ///
    /// Of its fields the detail, the hint and the context are left out: they quote rows and parameters. Of the context the number
    /// of a COPY's row is taken.
    init(refusal result: QueryResult) {
        let state = result.field(.state).map { SQLState($0) }
        let text = result.field(.message) ?? "The server refused a statement."
        self.init(
            .refused, state?.tellsData == true ? "The server refused a value." : text, state: state,
            constraint: result.field(.constraint), table: result.field(.table),
            row: result.field(.context).flatMap(Self.row))
    }

    /// "COPY registration, line 17, column fid", whatever the server's language is. In the binary format a line is a row.
    private static func row(inContext text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix("COPY ") {
            guard let start = line.firstRange(of: ", ")?.upperBound else { continue }
            return Int(line[start...].drop { !$0.isWholeNumber }.prefix { $0.isWholeNumber })
        }
        return nil
    }

    /// What libpq says of a connection that could not be made or was lost.
    ///
    /// - Parameter text: with the server's code in front of its message, as `PQERRORS_VERBOSE` has it.
    init(connection text: String) {
        let line = text.split(separator: "\n").first.map(String.init) ?? "The connection to the database was lost."
        // "FATAL:  53300: sorry, too many clients already"
        for severity in ["FATAL:  ", "ERROR:  ", "PANIC:  "] {
            guard let end = line.firstRange(of: severity)?.upperBound else { continue }
            let code = line[end...].prefix(5)
            guard code.count == 5, line[code.endIndex...].hasPrefix(": ") else { continue }
            let rest = line[code.endIndex...].dropFirst(2)
            self.init(.disconnected, String(line[..<end] + rest), state: SQLState(String(code)))
            return
        }
        self.init(.disconnected, line)
    }
}

extension PostgreSQLError {
    /// What the server said before it ended the connection; `nil`: it did not end it.
    init?(ending result: QueryResult) {
        guard let severity = result.field(.severity), severity == "FATAL" || severity == "PANIC" else { return nil }
        let refusal = PostgreSQLError(refusal: result)
        self.init(.disconnected, refusal.message, state: refusal.state)
    }
}
