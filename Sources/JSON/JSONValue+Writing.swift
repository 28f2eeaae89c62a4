extension JSONValue {
    /// The compact text: members in byte order of their names at every level, so equal values give equal bytes.
    package var canonicalBytes: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes, isSorted: true)
        return bytes
    }

    /// The compact text, members in their own order.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes, isSorted: false)
        return bytes
    }

    private func write(into bytes: inout [UInt8], isSorted: Bool) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): text.writeJSON(into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(into: &bytes, isSorted: isSorted)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in (isSorted ? members.sortedByName() : members).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                member.name.writeJSON(into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes, isSorted: isSorted)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }
}

extension [JSONValue.Member] {
    fileprivate func sortedByName() -> [JSONValue.Member] {
        let isSorted = indices.dropFirst().allSatisfy { !self[$0].precedes(self[$0 - 1]) }
        return isSorted ? self : sorted { $0.precedes($1) }
    }
}

extension JSONValue.Member {
    fileprivate func precedes(_ other: JSONValue.Member) -> Bool {
        name.utf8.lexicographicallyPrecedes(other.name.utf8)
    }
}

extension String {
    /// Appends the text in quotes. Escaped is only what must be (RFC 8259 §7); other text stays UTF-8.
    fileprivate func writeJSON(into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        // Nearly all text has nothing to escape and is appended in one piece.
        guard utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            bytes.append(contentsOf: utf8)
            return
        }
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20: bytes.append(contentsOf: byte.jsonEscape)
            default: bytes.append(byte)
            }
        }
    }
}

extension UInt8 {
    /// The escape of a control character, the short one where there is one.
    fileprivate var jsonEscape: [UInt8] {
        switch self {
        case 0x08: Array("\\b".utf8)
        case 0x09: Array("\\t".utf8)
        case 0x0a: Array("\\n".utf8)
        case 0x0c: Array("\\f".utf8)
        case 0x0d: Array("\\r".utf8)
        default: Array("\\u00".utf8) + [hexDigit(self >> 4), hexDigit(self & 0xf)]
        }
    }

    private func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
