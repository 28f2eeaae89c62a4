import Store

// The token of a registration: a seed is a BLOB and a text is TEXT, or bytes with a mark, see ``Dialect/marksTokens``.

/// In front of the bytes of a seed, and of a text.
private let (seedMark, textMark): (UInt8, UInt8) = (0, 1)

extension StoredToken: SQLBindable {
    package func bind(to statement: any PreparedStatement) { value(statement.dialect).bind(to: statement) }

    /// The column.
    func value(_ dialect: Dialect) -> SQLValue {
        switch self {
        case .seed(let bytes): .blob(dialect.marksTokens ? [seedMark] + bytes : bytes)
        case .tail(let text), .whole(let text): dialect.marksTokens ? .blob([textMark] + text.utf8) : .text(text)
        }
    }

    /// Reads the column.
    init(_ value: SQLValue, _ dialect: Dialect) throws {
        switch value {
        case .blob(let bytes) where dialect.marksTokens && bytes.first == textMark:
            self.init(text: String(decoding: bytes.dropFirst(), as: UTF8.self))
        case .blob(let bytes)
        where dialect.marksTokens && bytes.first == seedMark && bytes.count == Self.seedBytes + 1:
            self = .seed(Array(bytes.dropFirst()))
        case .blob(let bytes) where !dialect.marksTokens && bytes.count == Self.seedBytes: self = .seed(bytes)
        case .text(let text): self.init(text: text)
        case .blob, .null, .number: throw StoreError.invalid("a registration token")
        }
    }

    private init(text: String) {
        self = text.utf8.first == UInt8(ascii: ":") ? .tail(text) : .whole(text)
    }
}

extension Row {
    /// The token of a registration that a column holds.
    func token(_ column: Int) throws -> StoredToken { try StoredToken(value(column), dialect) }
}
