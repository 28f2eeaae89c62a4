/// A message as an Android phone would show it, in a line or a few: title and text of the notification, or the data.
package struct AndroidPresentation: Sendable {
    /// What stands there.
    package let text: String

    /// The longest text that is shown of one value.
    private static let longest = 160

    /// Reads a message that arrived.
    package init(_ message: RecordedPush) {
        let device = message.deviceToken.isEmpty ? "no device" : "…\(message.deviceToken.suffix(6))"
        let answer = "\(message.status)" + (message.reason.map { " \($0)" } ?? "")
        let content = JSON.read(Array(message.payload.utf8))?["message"]
        let android = content?["android"]
        func shown(_ name: String) -> String? {
            (android?["notification"]?[name] ?? content?["notification"]?[name])?.text
        }
        var parts = [shown("title"), shown("body")].compactMap { $0.map(Self.cleaned) }
        if parts.isEmpty, case .object(let members)? = android?["data"] ?? content?["data"] {
            parts = members.map { Self.cleaned("\($0.key)=\($0.value.text ?? "")") }
        }
        let priority = android?["priority"]?.text?.lowercased() ?? "normal"
        text = "android · \(priority) · \(device) · \(answer)\n  " + parts.joined(separator: " — ")
    }

    /// What a sender wrote must not steer the terminal.
    private static func cleaned(_ text: String) -> String {
        let clean = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }.joined()
        return clean.count > longest ? clean.prefix(longest) + "…" : clean
    }
}
