import Delivery
import FCMWire
import JSON
import PushModel

/// What `validate_only` answers: FCM's `name`, and our own figures beside it, which its SDKs pass over.
struct PreflightView {
    let name: String
    var preflight: Preflight
    let errors: [FCMError]

    /// What the sender may want to know of the sizes.
    var warnings: [MessageWarning] {
        preflight.payloadBytes.sorted { $0.key < $1.key }.filter { $0.key.platform == .web }.compactMap {
            .largePayload(of: label($0.key), bytes: $0.value)
        }
    }

    /// Two apps of one id are told apart by their platforms.
    private func label(_ key: AppKey) -> String {
        let isAlone = preflight.payloadBytes.keys.count { $0.id == key.id } == 1
        return isAlone ? key.id.rawValue : "\(key.platform.rawValue):\(key.id)"
    }

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
