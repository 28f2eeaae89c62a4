import PushModel

/// What a row of a file says.
struct LinkRow {
    let line: Int
    var shortLink: String?
    var parameters = LinkParameters()
    var isArchived = false
    var name: String?
    var createdAt: Timestamp
    private let now: Timestamp

    /// A row without values.
    ///
    /// - Parameter now: when the link was made, should the row not say it.
    init(line: Int, now: Timestamp) {
        self.line = line
        self.now = now
        createdAt = now
    }

    /// Takes a value.
    ///
    /// - Throws: why it is none of this column.
    mutating func take(_ text: String, of column: LinkColumn) throws(LinkRefusal) {
        switch column {
        case .shortLink: shortLink = text
        case .parameter(.forcedRedirect):
            // A column of truth values, whose "false" is the same as nothing.
            if try flag(text, column) { parameters[.forcedRedirect] = "1" }
        case .parameter(let parameter): parameters[parameter] = text
        case .isArchived: isArchived = try flag(text, column)
        case .name:
            if let problem = LinkName.problem(text) { throw refusal(column, "\(text.quotedExcerpt) \(problem)") }
            name = text
        case .createdAt: createdAt = try time(text, column)
        }
    }

    /// Refuses the row for a value of a column; `nil`: as a whole.
    func refusal(_ column: LinkColumn?, _ reason: String) -> LinkRefusal {
        LinkRefusal(line: line, column: column?.title, shortLink: shortLink, reason: reason)
    }

    private func flag(_ text: String, _ column: LinkColumn) throws(LinkRefusal) -> Bool {
        switch text.lowercased() {
        case "1", "true", "yes": return true
        case "0", "false", "no": return false
        default: throw refusal(column, "\(text.quotedExcerpt) is neither \"true\" nor \"false\"")
        }
    }

    private func time(_ text: String, _ column: LinkColumn) throws(LinkRefusal) -> Timestamp {
        guard let time = Self.time(text) else {
            throw refusal(
                column,
                "\(text.quotedExcerpt) is no time; write it like 2019-05-01T12:34:56Z, or as seconds or milliseconds since "
                    + "1970")
        }
        // Clocks and zones may be off by a day.
        guard (Self.firstLinks...now + .seconds(86_400)).contains(time) else {
            throw refusal(column, "\(text.quotedExcerpt) is before 2015 or in the future: no link was made then")
        }
        return time
    }

    /// 2015-01-01: no link of an export is older, for Dynamic Links and what it came from began in that year.
    private static let firstLinks = Timestamp(seconds: 1_420_070_400)

    /// RFC 3339, also with a space for the T and without a zone or with " UTC", or seconds or milliseconds since 1970.
    private static func time(_ text: String) -> Timestamp? {
        if let number = Int64(text) {
            switch number {
            case 0..<100_000_000_000: return Timestamp(milliseconds: number * 1000)
            // To the end of the year 9999.
            case 100_000_000_000...253_402_300_799_999: return Timestamp(milliseconds: number)
            default: return nil
            }
        }
        if let time = Timestamp(rfc3339: text) { return time }
        var plain = text.replacing(" UTC", with: "Z").replacing(" ", with: "T")
        if let time = Timestamp(rfc3339: plain) { return time }
        plain += "Z"
        return Timestamp(rfc3339: plain)
    }
}
