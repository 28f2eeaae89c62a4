import Delivery
import JSON
import PushModel

/// What `validate_only` answers: FCM's `name`, and our own figures beside it, which its SDKs pass over.
struct PreflightView {
    let name: String
    let preflight: Preflight
    let errors: [FCMError]

    /// The members of the answer.
    var members: [JSONValue.Member] {
        let sizes = preflight.payloadBytes.sorted { $0.key < $1.key }
        // Two apps of one id are told apart by their platforms.
        let counts = Dictionary(grouping: sizes, by: { $0.key.id }).mapValues(\.count)
        func label(_ key: AppKey) -> String {
            counts[key.id] == 1 ? key.id.rawValue : "\(key.platform.rawValue):\(key.id)"
        }
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
