/// HPACK (RFC 7541) as its text has it, for the peers of tests: shares no code with the engine, and tells how each field
/// was represented.
struct HPACKDecoder {
    /// How a field came (RFC 7541 §6).
    enum Representation {
        case indexed, incremental, notIndexed, neverIndexed
    }

    struct Field: Equatable {
        let name: String
        let value: String
        let representation: Representation
    }

    /// What the encoder may use at most: our SETTINGS_HEADER_TABLE_SIZE.
    private(set) var limit = 4096
    /// The smallest limit since the last block: the encoder must have gone below it.
    private var smallestLimit: Int?
    private var capacity = 4096
    /// Newest first.
    private var table: [(name: String, value: String)] = []

    /// The encoder has acknowledged another limit.
    mutating func setLimit(_ limit: Int) {
        self.limit = limit
        if limit < capacity { smallestLimit = min(limit, smallestLimit ?? .max) }
    }

    /// The fields of a header block.
    mutating func decode(_ block: [UInt8]) throws -> [Field] {
        var reader = Reader(bytes: block[...])
        var fields: [Field] = []
        while let first = reader.bytes.first {
            if first & 0xE0 == 0x20 {
                guard fields.isEmpty else { throw Violation("a table size amid the fields (RFC 7541 §4.2)") }
                try resize(to: reader.integer(5))
                continue
            }
            if smallestLimit != nil { throw Violation("no table size though the limit sank (RFC 7541 §4.2)") }
            fields.append(try field(first, &reader))
        }
        return fields
    }

    private mutating func resize(to size: Int) throws {
        guard size <= limit else { throw Violation("a table of \(size) bytes, \(limit) allowed") }
        if let smallest = smallestLimit, size <= smallest { smallestLimit = nil }
        capacity = size
        evict()
    }

    private mutating func field(_ first: UInt8, _ reader: inout Reader) throws -> Field {
        if first & 0x80 != 0 {
            let (name, value) = try entry(reader.integer(7))
            return Field(name: name, value: value, representation: .indexed)
        }
        let representation: Representation =
            first & 0x40 != 0 ? .incremental : first & 0x10 != 0 ? .neverIndexed : .notIndexed
        let index = try reader.integer(representation == .incremental ? 6 : 4)
        let name = index == 0 ? try reader.string() : try entry(index).name
        let value = try reader.string()
        if representation == .incremental {
            table.insert((name, value), at: 0)
            evict()
        }
        return Field(name: name, value: value, representation: representation)
    }

    private func entry(_ index: Int) throws -> (name: String, value: String) {
        if (1...Self.fixed.count).contains(index) { return Self.fixed[index - 1] }
        guard index > 0, index <= Self.fixed.count + table.count else { throw Violation("HPACK index \(index)") }
        return table[index - Self.fixed.count - 1]
    }

    private mutating func evict() {
        // RFC 7541 §4.1: 32 bytes for what an entry costs beside its text.
        while table.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }) > capacity { table.removeLast() }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func byte() throws -> UInt8 {
            guard let byte = bytes.popFirst() else { throw Violation("a header block ends too early") }
            return byte
        }

        /// An integer with a prefix of so many bits (RFC 7541 §5.1).
        mutating func integer(_ prefix: Int) throws -> Int {
            let full = 1 << prefix - 1
            var value = Int(try byte()) & full
            guard value == full else { return value }
            for shift in stride(from: 0, to: 28, by: 7) {
                let next = try byte()
                value += Int(next & 0x7F) << shift
                if next & 0x80 == 0 { return value }
            }
            throw Violation("an HPACK integer without an end")
        }

        mutating func string() throws -> String {
            let isHuffman = (bytes.first ?? 0) & 0x80 != 0
            let count = try integer(7)
            guard bytes.count >= count else { throw Violation("a header block ends too early") }
            let text = bytes.prefix(count)
            bytes = bytes.dropFirst(count)
            return String(decoding: isHuffman ? try Huffman.decode(text) : Array(text), as: UTF8.self)
        }
    }

    private static let fixed: [(name: String, value: String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]
}

/// A rule that a client broke.
struct Violation: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

/// HPACK's Huffman code (RFC 7541 Appendix B). It is canonical: the lengths of the codes say everything.
private enum Huffman {
    static func decode(_ bytes: ArraySlice<UInt8>) throws -> [UInt8] {
        var text: [UInt8] = []
        var (code, length) = (0, 0)
        for byte in bytes {
            for bit in (0..<8).reversed() {
                code = code << 1 | Int(byte >> UInt8(bit)) & 1
                length += 1
                guard length < codes.count else { throw Violation("no Huffman code") }
                let offset = code - codes[length].first
                guard offset >= 0, offset < codes[length].symbols.count else { continue }
                guard codes[length].symbols[offset] < 256 else { throw Violation("EOS in a Huffman text") }
                text.append(UInt8(codes[length].symbols[offset]))
                (code, length) = (0, 0)
            }
        }
        guard length < 8, code == 1 << length - 1 else { throw Violation("wrong Huffman padding") }
        return text
    }

    /// By length: the first code, and the symbols in order of their codes.
    private static let codes: [(first: Int, symbols: [Int])] = {
        var codes: [(first: Int, symbols: [Int])] = []
        var next = 0
        for length in 0...30 {
            next <<= 1
            let symbols = lengths.indices.filter { lengths[$0] == length }
            codes.append((next, symbols))
            next += symbols.count
        }
        return codes
    }()

    private static let lengths: [Int] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
        28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
        8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
        13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
        28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
        22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
        22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
        25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]
}
