extension StringProtocol {
    /// The text with its `%XX` sequences decoded, once; `nil` when one is broken or the bytes are not UTF-8.
    var percentDecoded: String? {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private func hexDigit(_ character: UInt8) -> UInt8? {
        Character(UnicodeScalar(character)).hexDigitValue.map(UInt8.init)
    }
}
