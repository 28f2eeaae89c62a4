/// Reads elements of DER (ITU-T X.690 §8.1) one after the other. The bytes come from a file: whatever they say, it never
/// reads beyond them.
struct DERReader {
    /// The bytes are not what they should be.
    struct Malformed: Error {}

    /// One element.
    struct Element {
        /// Class, constructed bit and number, for numbers below 31.
        let tag: UInt8
        /// What is in it.
        let content: ArraySlice<UInt8>
    }

    /// The universal tags in use.
    static let utf8String: UInt8 = 0x0C
    static let sequence: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    /// Reads from `bytes`.
    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// The next element; `nil` at the end.
    mutating func next() throws(Malformed) -> Element? {
        guard let tag = rest.popFirst() else { return nil }
        guard tag & 0x1F != 0x1F, let first = rest.popFirst() else { throw Malformed() }
        var length = Int(first)
        if first >= 0x80 {
            // 0x80 is the indefinite form, which DER forbids; three bytes count up to 16 MiB, far more than allowed here.
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), rest.count >= count else { throw Malformed() }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { throw Malformed() }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Element(tag: tag, content: content)
    }
}
