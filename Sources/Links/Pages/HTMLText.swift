import Mustache

/// Text as HTML, between tags and in quoted attributes.
///
/// The library's own escaping goes by characters as people see them: `<` after U+0600, or a quotation mark before an
/// accent, is another character to it and stays. To browsers they are what they are.
package struct HTMLText: MustacheContentType {
    /// Its name in the pragma that begins each template.
    package static let name = "HERALD"

    /// Makes the name known to the library; it may be called again.
    package static func register() {
        MustacheContentTypes.register(HTMLText(), named: name)
    }

    package func escapeText(_ text: String) -> String { Self.escaped(text) }

    /// A text, escaped: also what is made without a template.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            // No document may have these (HTML §13.2.3.5); a line break or a tab may stay.
            case "\u{0}"..."\u{8}", "\u{b}"..."\u{1f}", "\u{7f}"..."\u{9f}": escaped += "\u{fffd}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
