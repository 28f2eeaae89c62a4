import Links
import Testing

/// Records of RFC 4180, however the file is cut into blocks.
@Suite(.timeLimit(.minutes(2)))
struct CSVReaderTests {
    private func records(_ bytes: [UInt8], blocks size: Int = 1 << 20) throws -> [CSVRecord] {
        var rest = bytes[...]
        var reader = try CSVReader { count in
            defer { rest = rest.dropFirst(min(count, size)) }
            return Array(rest.prefix(min(count, size)))
        }
        var records: [CSVRecord] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private func fields(_ text: String) throws -> [[String]] {
        try records(Array(text.utf8)).map { record in
            guard case .fields(let fields) = record.content else { return ["malformed"] }
            return fields
        }
    }

    @Test(arguments: [
        ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]), ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
        ("a,\n,b\n,", [["a", ""], ["", "b"], ["", ""]]), ("\n\r\na\n\n", [["a"]]), ("", []),
        ("\u{feff}a,b", [["a", "b"]]),
        ("\"a,b\",\"c\"\"d\",\"\"\r\n", [["a,b", "c\"d", ""]]), ("\"a\r\nb\nc\",d\r\ne", [["a\r\nb\nc", "d"], ["e"]]),
        ("\"\u{feff}é\",\u{1F44B}", [["\u{feff}é", "\u{1F44B}"]]), ("a\rb,c\r\n", [["a\rb", "c"]]),
        ("\"a\"", [["a"]]), ("a,\"\"\"\"", [["a", "\""]]),
    ])
    func recordsAreReadAsRFC4180Says(_ text: String, _ expected: [[String]]) throws {
        #expect(try fields(text) == expected)
    }

    @Test(arguments: ["a\"b,c", "\"a\"b,c", "\"a\" ,c"])
    func aMalformedRecordIsToldAndTheNextIsRead(_ text: String) throws {
        let found = try records(Array("x\n\(text)\ny,z\n".utf8))
        #expect(found.map(\.line) == [1, 2, 3])
        guard case .malformed = found[1].content else {
            Issue.record("\(found[1])")
            return
        }
        #expect(found[2].content == .fields(["y", "z"]))
    }

    @Test func whatIsNoUTF8IsMalformed() throws {
        let found = try records([0x61, 0xff, 0x0a, 0x62])
        #expect(
            found.map(\.content) == [.malformed("field 1 is not UTF-8: convert the file to UTF-8"), .fields(["b"])])
    }

    @Test func linesAreCountedInsideQuotesToo() throws {
        #expect(try records(Array("a\n\"b\nc\"\n\nd".utf8)).map(\.line) == [1, 2, 5])
    }

    @Test func theSizeOfBlocksDoesNotMatter() throws {
        let text = (0..<200).map { "k\($0),\"v \"\"\($0)\"\"\r\nüü\",,end\r\n" }.joined()
        let whole = try records(Array(text.utf8))
        #expect(whole.count == 200 && whole[7].content == .fields(["k7", "v \"7\"\r\nüü", "", "end"]))
        for size in [1, 2, 3, 7, 64, 4096] { #expect(try records(Array(text.utf8), blocks: size) == whole) }
    }

    @Test(arguments: [10, 200_000])
    func aQuoteThatIsNotClosedTakesNoMoreThanALine(_ lines: Int) throws {
        let text = "a,\"b\n" + String(repeating: "x,y,z\n", count: lines)
        let found = try records(Array(text.utf8), blocks: 65_536)
        guard case .malformed = found[0].content else {
            Issue.record("\(found[0])")
            return
        }
        #expect(found.count == lines + 1 && found[1] == CSVRecord(line: 2, fields: ["x", "y", "z"]))
    }

    @Test(arguments: ["\"", ""], [2 << 20, 3 << 20])
    func aFieldThatIsTooLongIsOneRecordWithItsField(quote: String, length: Int) throws {
        let field = quote + String(repeating: "x", count: length) + quote
        let found = try records(Array("a,b\nc,\(field),d\ny,z\n".utf8), blocks: 1 << 18)
        #expect(found.map(\.line) == [1, 2, 3] && found.last == CSVRecord(line: 3, fields: ["y", "z"]))
        guard case .malformed(let problem) = found[1].content else {
            Issue.record("line \(found[1].line) is none")
            return
        }
        #expect(problem.contains("field 2") && problem.contains("1 MB"), "\(problem)")
        // Nothing is behind it.
        #expect(try records(Array("a\nc,\(field)".utf8), blocks: 1 << 18).count == 2)
    }

    @Test func aQuoteThatTheFileEndsInIsToldByItsField() throws {
        let found = try records(Array("a,b\nc,d,\"e".utf8))
        #expect(
            found.last
                == CSVRecord(
                    line: 2,
                    content: .malformed("field 3 has a quote that is not closed: a field in quotes ends with one")))
    }
}

extension CSVRecord {
    fileprivate init(line: Int, fields: [String]) {
        self.init(line: line, content: .fields(fields))
    }
}
