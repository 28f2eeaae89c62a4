import FCMWire
import JSON
import PushModel

/// How a message looks on devices, and how large it is for each platform.
enum ComposerPreview {
    /// The most bytes of a payload, on every platform.
    static let limit = 4096

    /// What the pictures of devices show.
    static func model(title: String, body: String, in project: Project) -> Model {
        let apps = project.apps.values.sorted { $0.key < $1.key }
        let web = apps.first { $0.platform == .web }?.id.rawValue
        return [
            "title": title.isEmpty ? "Title" : title, "body": body.isEmpty ? "What the message says" : body,
            "app": apps.first { $0.platform == .android }?.id.rawValue ?? "Your app", "host": web ?? "www.example.com",
        ]
    }

    /// The payload of each app that is reached, with its bytes.
    static func sizes(of content: FCMMessage, for many: Bool, _ call: ConsoleCall) -> [Model] {
        let apps = call.project.apps.values.filter(\.isServed).sorted { $0.key < $1.key }
        let id = MessageID(acceptedAt: call.now, random: 0)
        return apps.prefix(12).compactMap { app in
            let context = PushContext(
                message: id, projectNumber: call.project.number, broadcastTopic: nil, isForMany: many, app: app,
                expiresAt: call.now + .seconds(2_419_200), acceptedAt: call.now)
            // What does not fit an app is told by the gateway's own check.
            guard let push = try? call.services.composer.compose(content, in: context) else { return nil }
            let bytes = push.payload.count
            let text = JSONValue.text(of: push.payload)
            let row: Model = [
                "title": "\(name(of: app.platform)) · \(app.id)", "bytes": Format.number(bytes), "payload": text,
                "kind": bytes > limit ? "bad" : "",
            ]
            return row.merging(
                ProgressBar.model([(bytes > limit ? "rejected" : "accepted", "bytes", bytes)], of: limit)
            ) { own, _ in own }
        }
    }

    private static func name(of platform: Platform) -> String {
        switch platform {
        case .apple: "iPhone"
        case .android: "Android"
        case .web: "Browser"
        }
    }
}

extension JSONValue {
    /// A payload over several lines, if it is JSON; as it is otherwise.
    fileprivate static func text(of payload: [UInt8]) -> String {
        // A payload that is no JSON is shown as it is.
        guard let json = try? JSONValue(parsing: payload) else { return String(decoding: payload, as: UTF8.self) }
        return JSONText.pretty(json)
    }
}
