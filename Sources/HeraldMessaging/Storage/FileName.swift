/// Names of files for texts that may have any characters.
enum FileName {
    /// A name that no other text has, with no more than letters, digits, `-`, `.` and `_`.
    static func of(_ text: String) -> String {
        let name = text.utf8.enumerated().map { place, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"): String(UnicodeScalar(byte))
            // At the beginning it would hide the file, or be the directory above.
            case UInt8(ascii: ".") where place > 0: "."
            default: "_" + String(byte, radix: 16)
            }
        }.joined()
        return name.isEmpty ? "_" : name
    }
}
