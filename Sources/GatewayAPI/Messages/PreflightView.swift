import Delivery
import FCMWire
import JSON
import PushModel

/// What `validate_only` answers: FCM's `name`, and our own figures beside it, which its SDKs pass over.
struct PreflightView {
    let name: String
    var preflight: Preflight
    let errors: [FCMError]

    /// What the sender may want to know of each platform that the message may go to.
    func warnings(of content: FCMMessage) -> [MessageWarning] {
        let apps = preflight.payloadBytes.sorted { $0.key < $1.key }
        let platforms = Platform.allCases.filter { platform in apps.contains { $0.key.platform == platform } }
        let large = apps.filter { $0.key.platform == .web }.compactMap {
            MessageWarning.largePayload(of: label($0.key), bytes: $0.value)
        }
        return platforms.compactMap { content.emptyWarning(on: $0) } + large
    }

    private func label(_ key: AppKey) -> String { key.name(among: preflight.payloadBytes.keys) }

    /// The members of the answer.
    var members: [JSONValue.Member] {
        let sizes = preflight.payloadBytes.sorted { $0.key < $1.key }
        var members: [JSONValue.Member] = [
            .init("name", .string(name)),
            .init("audience", .integer(preflight.audience)),
            .init("payloadBytes", .object(sizes.map { .init(label($0.key), .integer($0.value)) })),
        ]
        if let duration = preflight.expectedDuration {
            members.append(
                .init("expectedDuration", .string(durationText(milliseconds: duration.wholeMilliseconds))))
        }
        members.append(.init("refusals", .array(errors.map(\.status))))
        return members
    }
}
