/// Ascending registration keys as a few bytes each: the differences, in groups of seven bits, the lowest first, with the
/// high bit on all but the last byte of a number (LEB128).
package enum PackedKeys {
    /// Packs keys that ascend from 1 or more.
    package static func data(_ keys: [Int64]) -> [UInt8] {
        var bytes: [UInt8] = []
        var last: Int64 = 0
        for key in keys {
            var delta = UInt64(bitPattern: key &- last)
            last = key
            while delta >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: delta) | 0x80)
                delta >>= 7
            }
            bytes.append(UInt8(truncatingIfNeeded: delta))
        }
        return bytes
    }

    /// Reads what ``data(_:)`` wrote.
    ///
    /// - Throws: `.failed` when the keys do not ascend or there is a part of a number only.
    package static func keys(_ data: [UInt8]) throws -> [Int64] {
        var keys: [Int64] = []
        var last: Int64 = 0
        var delta: UInt64 = 0
        var shift: UInt64 = 0
        for byte in data {
            guard shift < 64 else { throw StoreError.invalid("a list of registrations") }
            delta |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 != 0 {
                shift += 7
                continue
            }
            let (key, isTooLarge) = last.addingReportingOverflow(Int64(bitPattern: delta))
            guard !isTooLarge, key > last else { throw StoreError.invalid("a list of registrations") }
            keys.append(key)
            last = key
            delta = 0
            shift = 0
        }
        guard shift == 0 else { throw StoreError.invalid("a list of registrations") }
        return keys
    }
}

extension PackedKeys {
    /// Whether a key is among those that ``data(_:)`` packed. Nothing is read beyond its place: of keys that begin after
    /// it, the first one only.
    package static func contain(_ key: Int64, in data: [UInt8]) throws -> Bool {
        var last: Int64 = 0
        var delta: UInt64 = 0
        var shift: UInt64 = 0
        for byte in data {
            guard shift < 64 else { throw StoreError.invalid("a list of registrations") }
            delta |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 != 0 {
                shift += 7
                continue
            }
            let (next, isTooLarge) = last.addingReportingOverflow(Int64(bitPattern: delta))
            guard !isTooLarge, next > last else { throw StoreError.invalid("a list of registrations") }
            if next >= key { return next == key }
            last = next
            delta = 0
            shift = 0
        }
        guard shift == 0 else { throw StoreError.invalid("a list of registrations") }
        return false
    }
}
