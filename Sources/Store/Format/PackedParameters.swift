/// The parameters of a link as a column holds them: what nearly all links have in common is one byte each.
///
/// A byte of the column below 0x80 stands for itself, one from 0x80 on for a text of ``texts``. Two codes at the end take
/// a count and as many bytes behind them: of a run of `%XX` the bytes that it stands for, of other bytes themselves. Each
/// text has one way back, whatever it is; none takes more than twice its length. ``texts`` is append-only: columns have
/// the places of its members.
package enum PackedParameters {
    /// The code of a run of `%XX` in upper case.
    private static let escapes: UInt8 = 0xfe
    /// The code of a run of bytes from 0x80 on.
    private static let raw: UInt8 = 0xff

    private static let texts = [
        "%2F", "%3A", "%3D", "%26", "%3F", "%25", "%20", "%2C", "%23", "%2B", "%40", "https%3A%2F%2F",
        "https%3A%2F%2Fwww.", "http%3A%2F%2F", "link=https%3A%2F%2F", "link=https%3A%2F%2Fwww.",
        "&link=https%3A%2F%2F", "&link=https%3A%2F%2Fwww.", "&link=", "afl=https%3A%2F%2F", "&afl=https%3A%2F%2F",
        "&afl=", "&al=", "amv=", "&amv=", "apn=", "&apn=", "apn=com.", "&apn=com.", "&at=", "&ct=", "&mt=8", "&pt=",
        "efr=1", "&efr=1", "&gclid=", "ibi=", "&ibi=", "ibi=com.", "&ibi=com.", "&ifl=", "&ifl=https%3A%2F%2F",
        "&imv=", "&ipbi=", "&ipbi=com.", "&ipfl=", "&ipfl=https%3A%2F%2F", "&isi=", "&ius=", "&ofl=",
        "&ofl=https%3A%2F%2F", "&ppid=", "&sd=", "&si=", "&si=https%3A%2F%2F", "&st=", "&utm_campaign=",
        "&utm_content=", "&utm_medium=", "&utm_source=", "&utm_term=", "utm_campaign", "utm_content", "utm_medium",
        "utm_source", ".com", ".com%2F", ".html", "%2Fproduct%2F", "%2Fproducts%2F", "%2Finvite%2F",
        "%2Finvite%3F", "%2Fitem%2F", "%3Fid%3D", "%26id%3D", "%3Futm_source%3D", "%26utm_medium%3D",
        "%26utm_campaign%3D", "referrer%3D", "ref%3D", "social", "email", "share", "invite", "referral", "campaign",
        "newsletter", "product", "android", "images", ".jpg", ".png", "play.google.com", "apps.apple.com", "app",
    ]

    private static let bytes: [[UInt8]] = texts.map { Array($0.utf8) }
    private static let finder = TextFinder(bytes)

    /// Packs a text.
    package static func pack(_ text: String) -> [UInt8] {
        let source = Array(text.utf8)
        let finder = finder
        var packed: [UInt8] = []
        packed.reserveCapacity(source.count)
        var position = 0
        while position < source.count {
            if let found = finder.longest(at: position, of: source) {
                packed.append(0x80 + UInt8(found.place))
                position += found.count
            } else if let run = run(at: position, of: source) {
                packed.append(contentsOf: [run.code, UInt8(run.bytes.count)])
                packed.append(contentsOf: run.bytes)
                position = run.end
            } else {
                packed.append(source[position])
                position += 1
            }
        }
        return packed
    }

    /// The text that ``pack(_:)`` packed.
    ///
    /// - Throws: ``PackedReader/Damage`` when the bytes are not what it wrote.
    package static func unpack(_ packed: some RandomAccessCollection<UInt8>) throws -> String {
        var source: [UInt8] = []
        source.reserveCapacity(2 * packed.count)
        var rest = packed[...]
        while let byte = rest.popFirst() {
            switch byte {
            case ..<0x80: source.append(byte)
            case raw, escapes:
                guard let count = rest.popFirst(), rest.count >= count else { throw PackedReader.Damage() }
                for value in rest.prefix(Int(count)) {
                    source.append(contentsOf: byte == raw ? [value] : escape(value))
                }
                rest = rest.dropFirst(Int(count))
            default:
                let place = Int(byte) - 0x80
                guard place < bytes.count else { throw PackedReader.Damage() }
                source.append(contentsOf: bytes[place])
            }
        }
        guard let text = String(validating: source, as: UTF8.self) else { throw PackedReader.Damage() }
        return text
    }

    private static func run(at start: Int, of source: [UInt8]) -> (code: UInt8, bytes: [UInt8], end: Int)? {
        let isRaw = source[start] >= 0x80
        guard isRaw || source[start] == UInt8(ascii: "%") else { return nil }
        var (values, end): ([UInt8], Int) = ([], start)
        while values.count < 255, end < source.count {
            if isRaw {
                guard source[end] >= 0x80 else { break }
                values.append(source[end])
                end += 1
            } else {
                guard let value = escaped(at: end, of: source) else { break }
                values.append(value)
                end += 3
            }
        }
        return values.isEmpty ? nil : (isRaw ? raw : escapes, values, end)
    }

    /// The byte that `%XX` stands for.
    private static func escaped(at position: Int, of source: [UInt8]) -> UInt8? {
        guard source[position] == UInt8(ascii: "%"), position + 2 < source.count,
            let high = digit(source[position + 1]), let low = digit(source[position + 2])
        else { return nil }
        return high << 4 | low
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        default: nil
        }
    }
}

/// Finds which of some texts stands at a place. All of them lie in one array: what is asked for each byte of a link
/// touches no other memory.
private struct TextFinder {
    private struct Candidate {
        let start: Int
        let count: Int
        let place: Int
    }

    private let bytes: [UInt8]
    /// Those with the same first byte beside each other, the longest first.
    private var candidates: [Candidate] = []
    /// Where the candidates of each first byte begin, and at the end their number.
    private var starts: [Int] = []

    init(_ texts: [[UInt8]]) {
        bytes = texts.flatMap(\.self)
        var all: [Candidate] = []
        for (place, text) in texts.enumerated() {
            all.append(Candidate(start: all.last.map { $0.start + $0.count } ?? 0, count: text.count, place: place))
        }
        for first in 0...UInt8.max {
            starts.append(candidates.count)
            candidates += all.filter { bytes[$0.start] == first }.sorted { $0.count > $1.count }
        }
        starts.append(candidates.count)
    }

    /// The longest text at a position, by its place among them.
    func longest(at position: Int, of source: [UInt8]) -> (place: Int, count: Int)? {
        let first = Int(source[position])
        var index = starts[first]
        while index < starts[first + 1] {
            let candidate = candidates[index]
            index += 1
            guard position + candidate.count <= source.count else { continue }
            var length = 1
            while length < candidate.count, source[position + length] == bytes[candidate.start + length] { length += 1 }
            if length == candidate.count { return (candidate.place, candidate.count) }
        }
        return nil
    }
}
