/// An element of an array that is bound.
package enum ArrayElement: Sendable {
    case null
    case number(Int64)
    case text(String)
    /// A text that is there as bytes.
    case utf8([UInt8])
    case blob([UInt8])
}

/// The parameters of a statement in the binary format, one after the other.
struct ParameterBuffer {
    /// All values; the first byte is none, so that an empty value has an address.
    private(set) var bytes: [UInt8] = [0]
    /// Where each value begins and how many bytes it has; -1: it is NULL.
    private(set) var places: [(start: Int, count: Int)] = []
    /// What did not fit first.
    private(set) var misfit: String?
    /// The number of the column of a row that is appended, from 1; `nil`: it is no row.
    private var column: Int?

    /// How many there are.
    var count: Int { places.count }

    /// Makes it ready for the next time.
    mutating func removeAll() {
        bytes.removeSubrange(1...)
        places.removeAll(keepingCapacity: true)
        misfit = nil
    }

    mutating func appendNull() {
        places.append((bytes.count, -1))
    }

    mutating func append(_ number: Int64, as type: TypeID) {
        let start = bytes.count
        switch type {
        case .int8, .timestamptz, .xid8: append(UInt64(bitPattern: number))
        case .int4:
            guard let value = Int32(exactly: number) else { return note("a number beyond 32 bits", type) }
            append(UInt32(bitPattern: value))
        case .int2:
            guard let value = Int16(exactly: number) else { return note("a number beyond 16 bits", type) }
            append(UInt16(bitPattern: value))
        case .oid:
            guard let value = UInt32(exactly: number) else { return note("a number beyond 32 bits", type) }
            append(value)
        case .bool:
            guard number == 0 || number == 1 else { return note("a number beside 0 and 1", type) }
            bytes.append(UInt8(number))
        case .numeric: bytes += WholeNumeric.encode(number)
        case .float8: append(Double(number).bitPattern)
        default: return note("a number", type)
        }
        end(start)
    }

    /// - Parameter text: UTF-8.
    mutating func append(text: some Sequence<UInt8>, as type: TypeID) {
        let start = bytes.count
        switch type {
        case .text, .varchar, .name, .unknown: bytes += text
        default: return note("a text", type)
        }
        end(start)
    }

    mutating func append(blob: [UInt8], as type: TypeID) {
        let start = bytes.count
        guard type == .bytea else { return note("bytes", type) }
        bytes += blob
        end(start)
    }

    mutating func append(numbers: [Int64], as type: TypeID) {
        guard let element = type.element, [.int8, .int4, .int2].contains(element) else {
            return note("an array of numbers", type)
        }
        append(count: numbers.count, of: element) { buffer in
            for number in numbers { buffer.appendElement { $0.append(number, as: element) } }
        }
    }

    mutating func append(texts: [String], as type: TypeID) {
        guard type.element == .text else { return note("an array of texts", type) }
        append(count: texts.count, of: .text) { buffer in
            for text in texts { buffer.appendElement { $0.append(text: text.utf8, as: .text) } }
        }
    }

    mutating func append(blobs: [[UInt8]], as type: TypeID) {
        guard type.element == .bytea else { return note("an array of bytes", type) }
        append(count: blobs.count, of: .bytea) { buffer in
            for blob in blobs { buffer.appendElement { $0.append(blob: blob, as: .bytea) } }
        }
    }

    mutating func append(elements: some Collection<ArrayElement>, as type: TypeID) {
        guard let element = type.element else { return note("an array", type) }
        append(count: elements.count, of: element, hasNull: true) { buffer in
            for value in elements { buffer.append(value, as: element) }
        }
    }

    /// Appends the value of a column of a row, with its length in front, as COPY has it: the same as an element of an array.
    mutating func append(_ value: ArrayElement, as type: TypeID, column number: Int) {
        column = number
        append(value, as: type)
        column = nil
    }

    /// Appends bytes that are no value.
    mutating func append(raw other: [UInt8]) { bytes += other }

    private mutating func append(_ value: ArrayElement, as type: TypeID) {
        switch value {
        // Its length is -1.
        case .null: append(UInt32.max)
        case .number(let number) where type == .int8:
            append(8 as UInt32)
            append(UInt64(bitPattern: number))
        case .number(let number): appendElement { $0.append(number, as: type) }
        case .text(let text): appendElement { $0.append(text: text.utf8, as: type) }
        case .utf8(let bytes): appendElement { $0.append(text: bytes, as: type) }
        case .blob(let bytes): appendElement { $0.append(blob: bytes, as: type) }
        }
    }

    /// An array of one dimension: dimensions, whether there may be NULLs, type of the elements, their count, the number of the
    /// first one, and each with its length (`array_send`).
    private mutating func append(
        count: Int, of element: TypeID, hasNull: Bool = false, _ elements: (inout ParameterBuffer) -> Void
    ) {
        let start = bytes.count
        append(UInt32(count == 0 ? 0 : 1))
        append(UInt32(hasNull ? 1 : 0))
        append(element.rawValue)
        if count > 0 {
            append(UInt32(count))
            append(1 as UInt32)
            elements(&self)
        }
        end(start)
    }

    /// An element: its length, then what `body` appends as a value.
    private mutating func appendElement(_ body: (inout ParameterBuffer) -> Void) {
        let before = places.count
        append(0 as UInt32)
        let start = bytes.count
        body(&self)
        places.removeSubrange(before...)
        let length = UInt32(bytes.count - start).bigEndian
        unsafe withUnsafeBytes(of: length) { length in
            for place in 0..<4 { unsafe bytes[start - 4 + place] = length[place] }
        }
    }

    private mutating func end(_ start: Int) {
        places.append((start, bytes.count - start))
    }

    private mutating func note(_ what: String, _ type: TypeID) {
        let place = column.map { "column \($0)" } ?? "parameter \(places.count + 1)"
        if misfit == nil { misfit = "\(place) is \(type), and \(what) was bound to it" }
        appendNull()
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }
}
