/// A push as a person would see it, on a phone, an Android device or in a browser, drawn with lines of text in a terminal.
///
/// ```text
/// ┌ alert · com.example.app · …b1946a ───────────────────────────┐
/// │ Your order is on its way                                     │
/// │ Arrives today between 5 and 6                                │
/// │ badge 2 · sound default · thread orders                      │
/// │ order: 4711                                                  │
/// │ Firebase keys: gcm.message_id=17                             │
/// └ 200 ─────────────────────────────────────────────────────────┘
/// ```
///
/// What comes from the payload is stripped of control characters: a push cannot drive the terminal.
package struct PushPresentation: Sendable {
    /// How a line looks when colours are asked for.
    enum Style: Sendable {
        case plain, bold, dim
    }

    /// A line of text, not yet broken to the width.
    struct Line: Sendable, Hashable {
        var text: String
        var style = Style.plain
    }

    let heading: String
    let lines: [Line]
    let footing: String

    /// The answer: its status, and why it refuses.
    static func footing(_ status: Int, _ reason: String?) -> String {
        status == 0 ? "no answer" : "\(status)" + (reason.map { " \($0)" } ?? "")
    }

    /// What stands for a body that can't be read.
    static func notAnObject(_ body: String) -> Line {
        Line(text: "not a JSON object: " + body.prefix(200), style: .dim)
    }

    /// Each member in a line.
    static func memberLines(_ value: JSON?) -> [Line] {
        guard case .object(let members)? = value else { return [] }
        return members.map { Line(text: "\($0.key): \(shown($0.value))") }
    }

    /// The drawing, without a line break at its end.
    ///
    /// - Parameters:
    ///   - width: columns of the whole box.
    ///   - usesColour: whether to use ANSI bold and dim.
    package func text(width: Int = 72, usesColour: Bool = false) -> String {
        let inner = max(20, width - 4)
        var rows = [Self.edge("┌", heading, "┐", inner)]
        for line in lines {
            for piece in TerminalText.wrapped(line.text, to: inner) {
                let padding = String(repeating: " ", count: max(0, inner - TerminalText.columns(of: piece)))
                rows.append("│ \(Self.styled(piece, usesColour ? line.style : .plain))\(padding) │")
            }
        }
        rows.append(Self.edge("└", footing, "┘", inner))
        return rows.joined(separator: "\n")
    }

    private static func edge(_ left: String, _ label: String, _ right: String, _ inner: Int) -> String {
        let label = TerminalText.truncated(TerminalText.cleaned(label), to: inner - 1)
        let rule = String(repeating: "─", count: inner - TerminalText.columns(of: label))
        return "\(left) \(label) \(rule)\(right)"
    }

    private static func styled(_ text: String, _ style: Style) -> String {
        switch style {
        case .plain: text
        case .bold: "\u{1B}[1m\(text)\u{1B}[0m"
        case .dim: "\u{1B}[2m\(text)\u{1B}[0m"
        }
    }

    /// A value in one line: strings bare, everything else as compact JSON.
    static func shown(_ value: JSON) -> String {
        value.text ?? value.compact
    }
}

extension JSON {
    /// The value as JSON without white space.
    var compact: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): jsonString(text)
        case .array(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { jsonString($0.key) + ":" + $0.value.compact }.joined(separator: ",") + "}"
        }
    }
}
