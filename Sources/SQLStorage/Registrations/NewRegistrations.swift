import PushModel
import Store

/// Registrations of one app that come in together, within one transaction; for PostgreSQL, where each statement goes to a
/// server. Which of them conflict with what is stored is asked for once; the others then come in as rows with numbers,
/// which need no look at what is there.
struct NewRegistrations {
    let db: any Database
    let project: ProjectID
    /// Whether another app of the project, or an installation, may have one of the FIDs.
    let sharesIDs: Bool

    /// Which of the FIDs and of the active addresses of an app are there, by their places from 1 on.
    ///
    /// With its LIMIT each of them asks an index: what was planned as a join while the table was small would read all of it for
    /// each, a second for 500 rows beside 30,000.
    static let conflicts = """
        SELECT n.place FROM unnest(?2::text[]) WITH ORDINALITY AS n (fid, place)
        CROSS JOIN LATERAL (SELECT 1 FROM registration r WHERE r.fid = n.fid AND r.app = ?1 LIMIT 1) c
        UNION ALL
        SELECT n.place FROM unnest(?3::bytea[]) WITH ORDINALITY AS n (address, place)
        CROSS JOIN LATERAL (
            SELECT 1 FROM registration r WHERE r.app = ?1 AND r.address = n.address AND r.ended_at IS NULL LIMIT 1) c
        """
    /// Which of the tokens without a FID in front are there, in any project.
    static let tokenConflicts = """
        SELECT n.place FROM unnest(?1::bytea[]) WITH ORDINALITY AS n (token, place)
        CROSS JOIN LATERAL (
            SELECT 1 FROM registration r WHERE r.token = n.token AND \(Dialect.postgreSQL.isWholeToken) LIMIT 1) c
        """
    /// Takes so many numbers off those that registrations get, and gives the last one. All writers have one lock.
    static let numbers = """
        SELECT setval(s.name, nextval(s.name) + ?1 - 1)
        FROM (SELECT CAST(pg_get_serial_sequence('registration', 'key') AS regclass) AS name) s
        """

    /// Inserts them, as far as they conflict with nothing that is stored. No two of them conflict with each other.
    ///
    /// - Returns: the number of each, in their order; `nil`: it conflicts.
    func insert(_ new: [NewRegistration]) throws -> [Int64?] {
        guard let app = new.first?.app else { return [] }
        let (conflicting, last) = try conflicts(new, app)
        var next = last - Int64(new.count)
        let rows = RowBatch()
        let numbers = new.enumerated().map { place, registration -> Int64? in
            guard !conflicting.contains(Int64(place) + 1) else { return nil }
            next += 1
            rows.bind(next)
            registration.bind(to: rows, db.dialect)
            rows.endRow()
            return next
        }
        if rows.count > 0 { try db.insert(RegistrationTable.insertionOfNumbered, rows) }
        return numbers
    }

    /// Asks for all at once.
    ///
    /// - Returns: the places from 1 on of those that conflict, and the last of as many numbers.
    private func conflicts(_ new: [NewRegistration], _ app: Int64) throws -> (places: Set<Int64>, last: Int64) {
        let ids = new.map(\.id.rawValue)
        let statement = try db.statement(Self.conflicts)
        statement.bind(app)
        statement.bind(texts: ids)
        statement.bind(blobs: new.map(\.address.identity))
        try statement.askAhead()
        let tokens = try askForTokens(new)
        let taken = try sharesIDs ? db.ask(InstallationTable.takenIDs, [ids, project.rawValue]) : nil
        let numbers = try db.ask(Self.numbers, [new.count])
        var places: Set<Int64> = []
        let found = RowCursor(statement)
        while let row = try found.next() { places.insert(row[0]) }
        if let tokens {
            while let row = try tokens.found.next() { places.insert(tokens.places[row[0] - 1]) }
        }
        if let taken {
            var takenIDs: Set<String> = []
            while let row = try taken.next() { takenIDs.insert(row[0]) }
            for (place, id) in ids.enumerated() where takenIDs.contains(id) { places.insert(Int64(place) + 1) }
        }
        guard let last = try numbers.next().map({ $0[0] as Int64 }) else {
            throw StoreError(.failed, "The database gave no numbers for registrations.")
        }
        return (places, last)
    }

    /// Asks for the tokens without a FID in front, if there are any.
    private func askForTokens(_ new: [NewRegistration]) throws -> (found: RowCursor, places: [Int64])? {
        var (tokens, places): ([[UInt8]], [Int64]) = ([], [])
        for (place, registration) in new.enumerated() {
            guard case .whole = registration.token, case .blob(let bytes) = registration.token.value(db.dialect) else {
                continue
            }
            tokens.append(bytes)
            places.append(Int64(place) + 1)
        }
        guard !tokens.isEmpty else { return nil }
        let statement = try db.statement(Self.tokenConflicts)
        statement.bind(blobs: tokens)
        try statement.askAhead()
        return (RowCursor(statement), places)
    }
}
