/// A JSON text as a value: numbers keep their digits and objects the order of their members, which Foundation's
/// decoders lose. Both matter on the wire: violations name map entries by their place in the text, and a sender's
/// `1.10` must leave as it came.
package enum JSONValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as written.
    case number(String)
    /// A string, unescaped.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object: members in the order of the text, names unique (of duplicates the last value, at the last place).
    case object([Member])

    /// A name and its value.
    package struct Member: Hashable, Sendable {
        /// The name, unescaped.
        package var name: String
        /// The value.
        package var value: JSONValue

        /// Puts a member together.
        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the member `name`, when this is an object that has one.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.hasSameBytes(as: name) }?.value
    }

    /// The text, when this is a string.
    package var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

/// Where and why a text is not JSON.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    /// Bytes before the place.
    package let offset: Int
    /// What was wrong there.
    package let message: String

    /// Describes a syntax error.
    package init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}

extension String {
    /// Whether both are the same scalars. `==` also holds for canonically equivalent texts, and in JSON `\u{e9}` and
    /// `e\u{301}` are two names.
    func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
