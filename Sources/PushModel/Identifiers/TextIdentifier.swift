/// An identifier whose form is checked once, when it is made, and that is passed on as it is afterwards.
package protocol TextIdentifier: RawRepresentable, Hashable, Sendable, CustomStringConvertible
where RawValue == String {
    /// The identifier when `rawValue` has its form, otherwise `nil`.
    init?(rawValue: String)
}

extension TextIdentifier {
    /// The identifier as written on the wire.
    package var description: String { rawValue }
}

extension String {
    /// Whether the text is one to `limit` characters long, all of them ASCII letters, digits or one of `others`.
    package func isMade(of others: StaticString, upTo limit: Int) -> Bool {
        guard !isEmpty, utf8.count <= limit else { return false }
        let allowed = others.description.utf8
        return utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: allowed.contains(byte)
            }
        }
    }
}

/// Text that people chose.
enum PrintableText {
    /// Whether a text has 1 to 256 bytes and no control characters.
    static func isShort(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
