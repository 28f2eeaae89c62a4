/// A record of a CSV file.
package struct CSVRecord: Hashable, Sendable {
    /// What it holds.
    package enum Content: Hashable, Sendable {
        /// Its fields, without their quotes.
        case fields([String])
        /// Why it is none: a sentence. The records behind it are read on.
        case malformed(String)
    }

    /// The number of the line that it begins on, from 1.
    package let line: Int
    /// What it holds.
    package let content: Content

    /// Puts a record together.
    package init(line: Int, content: Content) {
        self.line = line
        self.content = content
    }
}

/// Reads records of RFC 4180 one by one, whatever the size of the file: it keeps a block and the record at its end.
///
/// Lines end with CRLF or LF, also inside quotes. A byte order mark in front is dropped, and so are empty lines.
package struct CSVReader {
    /// Gives at most `count` bytes; none: the end.
    package typealias Source = (_ count: Int) throws -> [UInt8]

    private static let blockBytes = 256 * 1024
    /// The most bytes of a record: beyond it a quote was not closed, or this is no CSV.
    private static let recordLimit = 1 << 20
    /// The least that is read to see what a file is.
    private static let headBytes = 4096

    private let source: Source
    private var block: [UInt8] = []
    private var position = 0
    private var line = 1
    private var isAtEnd = false
    /// Whether the line that comes next is the rest of a record that was given up.
    private var isSkipping = false
    /// A record that was looked at and not taken.
    private var pending: CSVRecord?

    /// Begins to read.
    package init(_ source: @escaping Source) throws {
        self.source = source
        while block.count < Self.headBytes, !isAtEnd { try fill() }
        if block.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
    }

    /// The next record; `nil` at the end.
    ///
    /// - Throws: the error of the source.
    package mutating func next() throws -> CSVRecord? {
        if let record = pending {
            pending = nil
            return record
        }
        while true {
            if isSkipping { try skipLine() }
            guard position < block.count || !isAtEnd else { return nil }
            var parser = CSVRecordParser(block, from: position)
            if !parser.parse(isLast: isAtEnd) {
                guard isAtEnd || block.count - position > Self.recordLimit else {
                    try fill()
                    continue
                }
                isSkipping = !parser.abandon(isLast: isAtEnd)
            }
            let start = line
            (position, line) = (parser.end, line + parser.lines)
            if let content = parser.content { return CSVRecord(line: start, content: content) }
        }
    }

    /// Drops what is left of the line.
    private mutating func skipLine() throws {
        while isSkipping {
            if let end = block[position...].firstIndex(of: 0x0a) {
                (position, line, isSkipping) = (end + 1, line + 1, false)
            } else {
                position = block.count
                guard !isAtEnd else { return }
                try fill()
            }
        }
    }

    /// What is read of the file so far and no record's yet.
    var head: ArraySlice<UInt8> { block[position...] }

    /// The next record if it is what is asked for; otherwise it stays the next one.
    mutating func next(if isWanted: (CSVRecord) -> Bool) throws -> CSVRecord? {
        guard pending == nil else { return nil }
        guard let record = try next() else { return nil }
        if isWanted(record) { return record }
        pending = record
        return nil
    }

    private mutating func fill() throws {
        let more = try source(Self.blockBytes)
        isAtEnd = more.isEmpty
        guard !more.isEmpty else { return }
        block = position < block.count ? Array(block[position...]) + more : more
        position = 0
    }
}

/// Parses one record out of a block.
private struct CSVRecordParser {
    private let bytes: [UInt8]
    private var position: Int
    private var fields: [String] = []
    private var problem: String?
    /// Whether what was parsed last is a field in quotes that nothing closes.
    private var isInQuotes = false
    /// Where the next record begins.
    private(set) var end: Int
    /// Lines that the record takes.
    private(set) var lines = 0

    init(_ bytes: [UInt8], from start: Int) {
        self.bytes = bytes
        position = start
        end = start
        fields.reserveCapacity(32)
    }

    /// What the record holds; `nil`: it is an empty line.
    var content: CSVRecord.Content? {
        if let problem { return .malformed(problem) }
        return fields == [""] ? nil : .fields(fields)
    }

    /// Parses; `false`: the record may go on behind the block.
    mutating func parse(isLast: Bool) -> Bool {
        while true {
            let isQuoted = position < bytes.count && bytes[position] == UInt8(ascii: "\"")
            if isQuoted {
                guard quoted() else {
                    isInQuotes = true
                    return false
                }
            } else {
                plain()
            }
            guard position < bytes.count else {
                end = position
                return isLast
            }
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: ",") { continue }
            // LF, perhaps with a CR in front that ``plain()`` and ``quoted(_:)`` left out.
            (end, lines) = (position, lines + 1)
            return true
        }
    }

    /// Gives the record up, and with it the line that it begins on; `false`: the line goes on behind the block.
    mutating func abandon(isLast: Bool) -> Bool {
        // A field without quotes is taken as far as it is there.
        let field = "field \(isInQuotes ? fields.count + 1 : fields.count)"
        let place = isLast ? "" : " within 1 MB"
        problem =
            isInQuotes
            ? "\(field) has a quote that is not closed\(place): a field in quotes ends with one"
            : "the row has more than 1 MB and is not at its end in \(field)"
        guard let newline = bytes[end...].firstIndex(of: 0x0a) else {
            (end, lines) = (bytes.count, 0)
            return false
        }
        (end, lines) = (newline + 1, 1)
        return true
    }

    /// Reads up to a comma or a line end.
    private mutating func plain() {
        let start = position
        var hasQuote = false
        while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] != 0x0a {
            hasQuote = hasQuote || bytes[position] == UInt8(ascii: "\"")
            position += 1
        }
        var field = bytes[start..<position]
        if field.last == 0x0d, position == bytes.count || bytes[position] == 0x0a { field.removeLast() }
        if hasQuote {
            flaw("has a quote inside: put the field in quotes and double the one inside")
        }
        add(field)
    }

    /// Reads up to the quote that closes, and what follows it on to a comma or a line end; `false`: no quote closes.
    private mutating func quoted() -> Bool {
        var field: [UInt8] = []
        position += 1
        while true {
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                if bytes[position] == 0x0a { lines += 1 }
                position += 1
            }
            field.append(contentsOf: bytes[start..<position])
            guard position < bytes.count else { return false }
            position += 1
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { break }
            field.append(UInt8(ascii: "\""))
            position += 1
        }
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] != 0x0a { position += 1 }
        if position - start > 1 || position > start && bytes[start] != 0x0d {
            flaw("has text behind its quotes: a comma or the line's end follows them")
        }
        add(field[...])
        return true
    }

    /// Notes what is wrong with the field that is read.
    private mutating func flaw(_ text: String) {
        problem = problem ?? "field \(fields.count + 1) \(text)"
    }

    private mutating func add(_ field: ArraySlice<UInt8>) {
        // Most fields of a file of links.
        guard !field.isEmpty else { return fields.append("") }
        guard let text = String(validating: field, as: UTF8.self) else {
            flaw("is not UTF-8: convert the file to UTF-8")
            return
        }
        fields.append(text)
    }
}
