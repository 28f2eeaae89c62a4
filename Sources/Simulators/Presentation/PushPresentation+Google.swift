extension PushPresentation {
    /// Reads a message that arrived at the simulated Google, as an Android device would show it: title and text of the
    /// notification, and the data.
    package init(android message: RecordedPush) {
        let content = JSON.read(Array(message.payload.utf8))?["message"]
        let android = content?["android"]
        let device = message.deviceToken.isEmpty ? "no device" : "…\(message.deviceToken.suffix(6))"
        let priority = android?["priority"]?.text?.lowercased() ?? "normal"
        self.init(
            heading: "android · \(priority) · \(device)",
            lines: content.map { Self.lines(of: $0, android) } ?? [Self.notAnObject(message.payload)],
            footing: Self.footing(message.status, message.reason))
    }

    private static func lines(of content: JSON, _ android: JSON?) -> [Line] {
        func shown(_ name: String) -> String? {
            (android?["notification"]?[name] ?? content["notification"]?[name]).map(Self.shown)
        }
        var lines: [Line] = []
        if let title = shown("title") { lines.append(Line(text: title, style: .bold)) }
        if let body = shown("body") { lines.append(Line(text: body)) }
        if let image = shown("image") { lines.append(Line(text: "image: \(image)")) }
        lines += memberLines(android?["data"] ?? content["data"])
        return lines.isEmpty ? [Line(text: "(silent: the user sees nothing)", style: .dim)] : lines
    }
}
