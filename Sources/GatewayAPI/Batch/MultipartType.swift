/// The `Content-Type` of a multipart body: `multipart/mixed; boundary="…"` (RFC 2046 §5.1.1).
struct MultipartType: Equatable {
    /// What stands in delimiters behind the two hyphens.
    let boundary: String

    /// Reads a header's value.
    init(_ value: String?) throws(MultipartProblem) {
        let parameters = value.map(Self.parameters) ?? []
        guard let type = parameters.first, type.name.lowercased() == "multipart/mixed" else {
            throw MultipartProblem("The Content-Type must be multipart/mixed with a boundary.")
        }
        guard let boundary = parameters.dropFirst().first(where: { $0.name.lowercased() == "boundary" })?.value,
            (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
            !boundary.hasSuffix(" ")
        else { throw MultipartProblem("The Content-Type must name a boundary of 1 to 70 ASCII characters.") }
        self.boundary = boundary
    }

    /// The type, and its parameters behind it; values may stand in quotes.
    private static func parameters(_ text: String) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        var part = ""
        var value: String?
        var isQuoted = false
        var isEscaped = false
        func end() {
            let plain = { (text: String) in String(text.trimmingBlanks) }
            parameters.append((plain(part), value ?? ""))
            (part, value) = ("", nil)
        }
        for character in text {
            if isQuoted {
                switch character {
                case _ where isEscaped:
                    value?.append(character)
                    isEscaped = false
                case "\\": isEscaped = true
                case "\"": isQuoted = false
                default: value?.append(character)
                }
                continue
            }
            switch character {
            case ";": end()
            case "=" where value == nil: value = ""
            case "\"" where value?.isEmpty == true: isQuoted = true
            case " ", "\t":
                // None stands in what is not quoted.
                break
            default:
                if value == nil { part.append(character) } else { value?.append(character) }
            }
        }
        end()
        return parameters
    }
}
