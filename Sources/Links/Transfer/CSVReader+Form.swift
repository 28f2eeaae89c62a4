extension CSVReader {
    /// Why the file holds no records of a CSV: a sentence about it; `nil`: it may hold some. Known before the first record is
    /// taken.
    package var formProblem: String? {
        if head.allSatisfy({ $0 <= 0x20 }) { return "the file is empty" }
        if let encoding = Self.encoding(of: head) { return "the file is \(encoding)" }
        guard let separator = Self.separator(of: head.prefix { $0 != 0x0a }) else { return nil }
        return "the fields are separated by \(separator): save the file with commas"
    }

    /// What the first bytes say of a file that is no text in UTF-8.
    private static func encoding(of head: ArraySlice<UInt8>) -> String? {
        let wide = "UTF-16 or UTF-32: save it as UTF-8"
        for (mark, encoding) in [
            ([0xff, 0xfe], wide), ([0xfe, 0xff], wide), ([0x00, 0x00, 0xfe, 0xff], wide),
            ([0x50, 0x4b, 0x03, 0x04], "a ZIP archive, as workbooks are: save it as CSV"),
            ([0x1f, 0x8b], "compressed: unpack it"),
        ] as [([UInt8], String)] where head.starts(with: mark) { return encoding }
        // Latin letters in UTF-16 without a mark.
        return head.prefix(2).contains(0) ? wide : nil
    }

    /// What stands between the fields of a line where commas should: of a header no commas at all, of a row many more than
    /// there are commas in its texts.
    private static func separator(of line: ArraySlice<UInt8>) -> String? {
        var (commas, semicolons, tabs, isQuoted) = (0, 0, 0, false)
        for byte in line {
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: commas += 1
            case UInt8(ascii: ";") where !isQuoted: semicolons += 1
            case UInt8(ascii: "\t") where !isQuoted: tabs += 1
            default: break
            }
        }
        let most = max(semicolons, tabs)
        guard most > commas, commas == 0 || most >= LinkColumn.google.count - 1 else { return nil }
        return semicolons > tabs ? "semicolons" : "tabs"
    }
}
