extension PushPresentation {
    /// Reads a push that arrived at the simulated push service, as a browser would show it: title, text and what a click opens,
    /// and the data.
    package init(browser push: RecordedWebPush) {
        let urgency = push.headers["urgency"] ?? "normal"
        let browser = push.subscription.isEmpty ? "no subscription" : "…\(push.subscription.suffix(6))"
        self.init(
            heading: "browser · \(urgency) · \(browser)", lines: push.plaintext.map(Self.lines) ?? [],
            footing: Self.footing(push.status, push.problem))
    }

    private static func lines(of plaintext: String) -> [Line] {
        guard let content = JSON.read(Array(plaintext.utf8)), case .object = content else {
            return [notAnObject(plaintext)]
        }
        let notification = content["notification"]
        var lines: [Line] = []
        if let title = notification?["title"] { lines.append(Line(text: shown(title), style: .bold)) }
        if let body = notification?["body"] { lines.append(Line(text: shown(body))) }
        if let page = notification?["navigate"] { lines.append(Line(text: "opens \(shown(page))", style: .dim)) }
        return lines + memberLines(content["data"])
    }
}
