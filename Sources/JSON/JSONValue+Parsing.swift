extension JSONValue {
    /// Parses a UTF-8 JSON text (RFC 8259); at most 64 levels deep.
    ///
    /// - Throws: ``JSONSyntaxError`` with the byte offset, also for a text after the value and invalid UTF-8.
    package init(parsing bytes: some Collection<UInt8>) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: Array(bytes))
        self = try parser.parseText()
    }

    /// Parses a text as ``init(parsing:)`` does, and takes the bytes of one member of its object along.
    ///
    /// - Parameter member: the member's name.
    /// - Returns: beside the value the member's own bytes, when they are what ``bytes`` would make of it; `nil`: it is not
    ///   there, or the text writes it otherwise.
    package static func parsing(
        _ bytes: some Collection<UInt8>, bytesOf member: String
    ) throws(JSONSyntaxError) -> (value: JSONValue, member: [UInt8]?) {
        var parser = JSONParser(bytes: Array(bytes), member: member)
        let value = try parser.parseText()
        return (value, parser.memberPlace.map { Array(parser.bytes[$0]) })
    }
}

/// One pass over the bytes of a JSON text, each looked at a constant number of times.
private struct JSONParser {
    /// Arrays and objects inside each other; deeper texts are refused, so a text cannot exhaust the stack.
    static let depthLimit = 64

    let bytes: [UInt8]
    var position = 0
    /// The member of the outermost object whose place is wanted.
    let member: String?
    /// Where it stands; `nil`: nowhere, or not as it would be written.
    private(set) var memberPlace: Range<Int>?
    /// What would be written otherwise so far: blanks, escapes, members that others replace.
    private var deviations = 0

    init(bytes: [UInt8], member: String? = nil) {
        self.bytes = bytes
        self.member = member
    }

    mutating func parseText() throws(JSONSyntaxError) -> JSONValue {
        skipWhitespace()
        let value = try parseValue(depth: 0)
        skipWhitespace()
        guard position == bytes.count else { throw error("unexpected text after the value") }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard position < bytes.count else { throw error("unexpected end of the text") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try parseObject(depth: depth + 1)
        case UInt8(ascii: "["): return try parseArray(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseLiteral("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseLiteral("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseLiteral("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        default: throw error("unexpected character")
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        var members: [JSONValue.Member] = []
        guard try open(depth: depth, until: UInt8(ascii: "}")) else { return .object([]) }
        repeat {
            skipWhitespace()
            guard peek == UInt8(ascii: "\"") else { throw error("expected a member name") }
            let name = try parseString()
            skipWhitespace()
            guard peek == UInt8(ascii: ":") else { throw error("expected ':' after a member name") }
            position += 1
            skipWhitespace()
            let (start, before) = (position, deviations)
            members.append(JSONValue.Member(name, try parseValue(depth: depth)))
            if depth == 1, name == member { memberPlace = deviations == before ? start..<position : nil }
        } while try hasMore(before: UInt8(ascii: "}"))
        let kept = members.keepingLastOfDuplicates()
        deviations += members.count - kept.count
        return .object(kept)
    }

    private mutating func parseArray(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        var elements: [JSONValue] = []
        guard try open(depth: depth, until: UInt8(ascii: "]")) else { return .array([]) }
        repeat {
            skipWhitespace()
            elements.append(try parseValue(depth: depth))
        } while try hasMore(before: UInt8(ascii: "]"))
        return .array(elements)
    }

    /// Steps over an opening bracket; `false` when its partner follows at once, which is stepped over too.
    private mutating func open(depth: Int, until closing: UInt8) throws(JSONSyntaxError) -> Bool {
        guard depth <= Self.depthLimit else { throw error("more than \(Self.depthLimit) levels deep") }
        position += 1
        skipWhitespace()
        guard peek == closing else { return true }
        position += 1
        return false
    }

    /// Steps over the `,` or the closing bracket behind an element.
    private mutating func hasMore(before closing: UInt8) throws(JSONSyntaxError) -> Bool {
        skipWhitespace()
        guard let byte = peek else { throw error("unexpected end of the text") }
        guard byte == UInt8(ascii: ",") || byte == closing else {
            throw error("expected ',' or '\(Character(UnicodeScalar(closing)))'")
        }
        position += 1
        return byte != closing
    }

    private mutating func parseLiteral(
        _ literal: StaticString, as value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        guard bytes[position...].starts(with: literal.description.utf8) else { throw error("unexpected character") }
        position += literal.utf8CodeUnitCount
        return value
    }

    /// `-? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)?`
    private mutating func parseNumber() throws(JSONSyntaxError) -> String {
        let start = position
        if peek == UInt8(ascii: "-") { position += 1 }
        if peek == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits()
        }
        if peek == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            position += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        guard position > start else { throw error("expected a digit") }
    }

    /// A string from its opening quote on. Text without escapes, nearly all of it, is taken in one piece.
    private mutating func parseString() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        try skipUnescaped()
        guard bytes[position] == UInt8(ascii: "\\") else {
            position += 1
            return try text(bytes[start..<(position - 1)], at: start)
        }
        var unescaped = Array(bytes[start..<position])
        while bytes[position] == UInt8(ascii: "\\") {
            try parseEscape(into: &unescaped)
            let next = position
            try skipUnescaped()
            unescaped.append(contentsOf: bytes[next..<position])
        }
        position += 1
        return try text(unescaped[...], at: start)
    }

    /// Stops at a quote or a backslash.
    private mutating func skipUnescaped() throws(JSONSyntaxError) {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            guard byte >= 0x20 else { throw error("control character in a string") }
            position += 1
        }
        throw error("unexpected end of the text")
    }

    private func text(_ bytes: ArraySlice<UInt8>, at start: Int) throws(JSONSyntaxError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONSyntaxError(offset: start, message: "invalid UTF-8 in a string")
        }
        return text
    }

    private mutating func parseEscape(into unescaped: inout [UInt8]) throws(JSONSyntaxError) {
        position += 1
        guard let byte = peek else { throw error("unexpected end of the text") }
        // The others are written as they stand.
        if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "u") { deviations += 1 }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0c)
        case UInt8(ascii: "n"): unescaped.append(0x0a)
        case UInt8(ascii: "r"): unescaped.append(0x0d)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            unescaped.append(contentsOf: try parseScalar().utf8)
            return
        default: throw error("unknown escape")
        }
        position += 1
    }

    /// The scalar behind `\u`; beyond the basic plane two escapes make one, and half of a pair makes none.
    private mutating func parseScalar() throws(JSONSyntaxError) -> String {
        let start = position
        let first = try parseHex4()
        var code = UInt32(first)
        if (0xd800...0xdbff).contains(first), bytes[position...].starts(with: "\\u".utf8) {
            position += 2
            let second = try parseHex4()
            if (0xdc00...0xdfff).contains(second) {
                code = 0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00)
            }
        }
        guard let scalar = UnicodeScalar(code) else {
            throw JSONSyntaxError(offset: start, message: "unpaired surrogate in a string")
        }
        return String(Character(scalar))
    }

    private mutating func parseHex4() throws(JSONSyntaxError) -> UInt16 {
        var code: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = byte.hexDigit else { throw error("expected four hex digits") }
            code = code << 4 | UInt16(digit)
            position += 1
        }
        return code
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0a, 0x0d:
                position += 1
                deviations += 1
            default: return
            }
        }
    }

    private func error(_ message: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: position, message: message)
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension [JSONValue.Member] {
    /// The members without those that a later one of the same name replaces: linear, whatever the names are.
    package func keepingLastOfDuplicates() -> [JSONValue.Member] {
        // Few members are compared with each other: no hashing, no allocation.
        if count <= 16, !indices.contains(where: isReplaced) { return self }
        var seen: Set<[UInt8]> = []
        seen.reserveCapacity(count)
        let kept = reversed().filter { seen.insert([UInt8]($0.name.utf8)).inserted }
        return kept.count == count ? self : kept.reversed()
    }

    private func isReplaced(at index: Int) -> Bool {
        self[(index + 1)...].contains { $0.name.hasSameBytes(as: self[index].name) }
    }
}
