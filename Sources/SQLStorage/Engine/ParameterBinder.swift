/// What takes values in the order of the parameters or columns that they are for.
package protocol ParameterBinder: AnyObject {
    // The next parameter.

    func bind(_ value: Int64)

    func bindNull()

    func bind(_ text: String)

    /// A text that is there as bytes.
    func bind(utf8 bytes: [UInt8])

    func bind(blob bytes: [UInt8])
}

extension ParameterBinder {
    func bind(_ value: Int) { bind(Int64(value)) }

    func bind(_ value: Bool) { bind(value ? 1 as Int64 : 0) }

    func bind(_ value: Int64?) {
        if let value { bind(value) } else { bindNull() }
    }

    func bind(_ text: String?) {
        if let text { bind(text) } else { bindNull() }
    }

    package func bind(_ value: SQLValue) {
        switch value {
        case .null: bindNull()
        case .number(let number): bind(number)
        case .text(let text): bind(text)
        case .blob(let bytes): bind(blob: bytes)
        }
    }
}
