/// The value behind a scheme in front of it, as in `Bearer <token>`: the scheme in any case, blanks around the value.
enum SchemeCredential {
    /// The value in `text`; `nil`: it has another scheme.
    ///
    /// - Parameter scheme: in lower case and ASCII, with what parts it from the value.
    static func value(of scheme: String, in text: some StringProtocol) -> String? {
        let bytes = text.utf8
        var index = bytes.startIndex
        for byte in scheme.utf8 {
            guard index < bytes.endIndex else { return nil }
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index])
            guard bytes[index] | (isUpper ? 0x20 : 0) == byte else { return nil }
            bytes.formIndex(after: &index)
        }
        return String(text[index...].trimmingBlanks)
    }
}
