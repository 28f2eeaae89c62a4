import JSON
import Testing

struct JSONValueTests {
    static let roundTrips = [
        "null", "true", "false", "0", "-0", "1.10", "1e5", "-12.5E-3", "123456789012345678901234567890", "\"\"",
        "\"a/b\"", "\"\u{e9}\u{1F600}\u{2028}\"", "[]", "{}", "[1,[2,{\"a\":[]}]]",
        "{\"b\":1,\"a\":{\"d\":null,\"c\":2}}",
        #""\"\\\b\f\n\r\t\u0000\u001f""#,
    ]

    @Test(arguments: roundTrips)
    func compactTextComesBackAsItWas(text: String) throws {
        #expect(String(decoding: try JSONValue(parsing: text.utf8).bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [
        (#"{"message":{"a":1.50,"b":["x","\n\"\\",null,{}]},"c":1}"#, true),
        (#" { "validate_only" : false , "message" : {"a":"é"} } "#, true),
        (#"{"message":1,"message":{"a":2}}"#, true),
        (#"{"c":{"message":{}},"message":"x"}"#, true),
        (#"{"message":{"a": 1}}"#, false),
        (#"{"message":{"a":"\u00e9"}}"#, false),
        (#"{"message":{"a":"\/"}}"#, false),
        (#"{"message":{"a":1,"a":2}}"#, false),
        (#"{"c":{"message":{}}}"#, false),
        (#"[{"message":{}}]"#, false),
    ])
    func theBytesOfAMemberAreThoseThatWouldBeWritten(text: String, isThere: Bool) throws {
        let (value, member) = try JSONValue.parsing(text.utf8, bytesOf: "message")
        #expect(try value == JSONValue(parsing: text.utf8))
        #expect(member == (isThere ? value["message"]?.bytes : nil))
    }

    static let invalid = [
        "", " ", "nul", "tru", "True", "+1", "01", "-", "1.", ".5", "1e", "1e+", "0x1", "NaN", "\"", "\"a", "'a'",
        "\"\u{1}\"", "\"\n\"", #""\x""#, #""\u12"#, #""\u12g4""#, #""\ud83d""#, #""\ude00""#, #""\ud83dx""#,
        #""\ud83d\u0041""#, "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
        "{\"a\":1,}",
        "{a:1}", "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "1 2", "{} {}", "[]]", "\u{feff}1", "/**/1", "1\u{b}",
    ]

    @Test(arguments: invalid)
    func invalidTextIsRefused(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text.utf8) }
    }

    @Test(
        arguments: [
            [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: [quote] + bytes + [quote]) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: [quote] + Array(#"\n"#.utf8) + bytes + [quote]) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) }
    }

    @Test(arguments: [
        ("[1,x]", 3, "unexpected character"), ("{\"a\":1", 6, "unexpected end of the text"),
        ("[1 2]", 3, "expected ',' or ']'"), ("1 2", 2, "unexpected text after the value"),
    ])
    func anErrorSaysWhereAndWhy(text: String, offset: Int, message: String) {
        #expect(throws: JSONSyntaxError(offset: offset, message: message)) { try JSONValue(parsing: text.utf8) }
    }

    @Test(arguments: [
        (#""\ud83d\ude00""#, "\u{1F600}"), (#""\uD83D\uDE00x""#, "\u{1F600}x"), (#""\u00e9\/""#, "\u{e9}/"),
        (#""a\u0041\n""#, "aA\n"), (#""\uffff""#, "\u{ffff}"),
    ])
    func escapesAreRead(text: String, expected: String) throws {
        #expect(try JSONValue(parsing: text.utf8) == .string(expected))
    }

    @Test func sixtyFourLevelsAreReadAndOneMoreIsNot() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(try JSONValue(parsing: nested(64)).bytes == nested(64))
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: nested(65)) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: nested(200_000)) }
    }

    @Test(arguments: [0, 40])
    func ofDuplicateNamesTheLastWinsAtTheLastPlace(others: Int) throws {
        let filler = (0..<others).map { ",\"f\($0)\":0" }.joined()
        let value = try JSONValue(parsing: "{\"a\":1,\"b\":2,\"a\":3\(filler)}".utf8)
        #expect(String(decoding: value.bytes, as: UTF8.self) == "{\"b\":2,\"a\":3\(filler)}")
        #expect(value["a"] == .number("3"))
    }

    @Test(arguments: [0, 40])
    func canonicallyEquivalentNamesStayApart(others: Int) throws {
        let filler = (0..<others).map { ",\"f\($0)\":0" }.joined()
        let text = "{\"\u{e9}\":1,\"e\u{301}\":2\(filler)}"
        let value = try JSONValue(parsing: text.utf8)
        #expect(value.bytes == Array(text.utf8))
        #expect(value["\u{e9}"] == .number("1"))
        #expect(value["e\u{301}"] == .number("2"))
    }

    @Test func canonicalBytesAreSortedByTheBytesOfTheNames() throws {
        // U+FF5E comes before U+1F600 in UTF-8 and behind it in UTF-16.
        let value = try JSONValue(
            parsing: "{\"\u{1F600}\":1,\"\u{FF5E}\":2,\"b\":{\"d\":1,\"c\":2},\"B\":3,\"\":4}".utf8)
        #expect(
            String(decoding: value.canonicalBytes, as: UTF8.self)
                == "{\"\":4,\"B\":3,\"b\":{\"c\":2,\"d\":1},\"\u{FF5E}\":2,\"\u{1F600}\":1}")
    }

    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func manyMembersAreReadInLinearTime(areDistinct: Bool) throws {
        let count = 100_000
        let text = "{" + (0..<count).map { "\"k\(areDistinct ? $0 : 0)\":\($0)" }.joined(separator: ",") + "}"
        let clock = ContinuousClock()
        var members = 0
        let time = try clock.measure {
            guard case .object(let read) = try JSONValue(parsing: text.utf8) else { return }
            members = read.count
        }
        #expect(members == (areDistinct ? count : 1))
        // A comparison of each with each would take minutes.
        #expect(time < .seconds(20))
    }

    @Test func whitespaceBetweenTokensDoesNotMatter() throws {
        let value = try JSONValue(parsing: " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n".utf8)
        #expect(String(decoding: value.bytes, as: UTF8.self) == "{\"a\":[1,2],\"b\":{}}")
    }
}
