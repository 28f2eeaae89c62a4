/// Text measured in the columns of a terminal.
enum TerminalText {
    /// `text` without what could move the cursor, change colours or turn the reading direction.
    static func cleaned(_ text: some StringProtocol) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x00..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: result.append(" ")
            case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// How many columns `text` takes.
    static func columns(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The beginning of `text` that fits, with an ellipsis when something is left out.
    static func truncated(_ text: String, to limit: Int) -> String {
        guard columns(of: text) > limit else { return text }
        var result = ""
        var used = 0
        for character in text {
            let width = columns(of: character)
            guard used + width < limit else { break }
            used += width
            result.append(character)
        }
        return result + "…"
    }

    /// `text` in lines of at most `limit` columns, broken at line ends and spaces, a long word anywhere.
    static func wrapped(_ text: String, to limit: Int) -> [String] {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).flatMap { paragraph in
            wrappedParagraph(cleaned(paragraph), to: limit)
        }
    }

    private static func wrappedParagraph(_ text: String, to limit: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var used = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let width = columns(of: word)
            if !line.isEmpty, used + 1 + width > limit {
                lines.append(line)
                (line, used) = ("", 0)
            }
            if !line.isEmpty {
                line.append(" ")
                used += 1
            }
            for character in word {
                let width = columns(of: character)
                if used + width > limit {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += width
            }
        }
        return lines + [line]
    }

    /// Two for East Asian wide characters and emoji (UAX #11), none for a lone mark, otherwise one.
    private static func columns(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if character.unicodeScalars.contains("\u{FE0F}") || first.properties.isEmojiPresentation { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default:
            switch first.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: return 0
            default: return 1
            }
        }
    }
}
