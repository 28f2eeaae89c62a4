/// Bytes of packed values on their way into a column: unsigned numbers in groups of seven bits, the lowest first.
package struct PackedWriter {
    package private(set) var bytes: [UInt8] = []

    package init(reserving capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func put(byte: UInt8) {
        bytes.append(byte)
    }

    @inline(__always)
    package mutating func put(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Small numbers of either sign take few bytes.
    @inline(__always)
    package mutating func put(signed value: Int64) {
        put(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    package mutating func put(text: String) {
        put(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }
}

/// Reads what ``PackedWriter`` wrote. Whatever the bytes are, it throws and never traps.
package struct PackedReader {
    /// The bytes are not what was written.
    package struct Damage: Error {}

    private let bytes: [UInt8]
    private let end: Int
    private var place: Int

    /// Reads `bytes` up to `end`, which lies within them.
    package init(_ bytes: [UInt8], upTo end: Int) {
        self.bytes = bytes
        self.end = end
        place = 0
    }

    /// Bytes not read yet.
    package var remaining: Int { end - place }

    @inline(__always)
    package mutating func byte() throws(Damage) -> UInt8 {
        guard place < end else { throw Damage() }
        defer { place += 1 }
        return bytes[place]
    }

    @inline(__always)
    package mutating func number() throws(Damage) -> UInt64 {
        let first = try byte()
        return first < 0x80 ? UInt64(first) : try longNumber(first)
    }

    private mutating func longNumber(_ first: UInt8) throws(Damage) -> UInt64 {
        var value = UInt64(first & 0x7f)
        for shift in stride(from: UInt64(7), to: 64, by: 7) {
            let next = try byte()
            guard shift < 63 || next <= 1 else { throw Damage() }
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
        }
        throw Damage()
    }

    @inline(__always)
    package mutating func signed() throws(Damage) -> Int64 {
        let value = try number()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// A number of things that take at least `bytes` bytes each of what remains.
    package mutating func count(ofAtLeast bytes: Int) throws(Damage) -> Int {
        let value = try number()
        guard value <= UInt64(remaining / bytes) else { throw Damage() }
        return Int(value)
    }

    package mutating func text() throws(Damage) -> String {
        let length = try count(ofAtLeast: 1)
        guard let text = String(validating: bytes[place..<place + length], as: UTF8.self) else { throw Damage() }
        place += length
        return text
    }
}
