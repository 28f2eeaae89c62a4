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
        let sizes = Dictionary(preflight.payloadBytes.map { ($0.key.id.rawValue, $0.value) }, uniquingKeysWith: max)
            .sorted { $0.key < $1.key }
        var members: [JSONValue.Member] = [
            .init("name", .string(name)),
            .init("audience", .integer(preflight.audience)),
            .init("payloadBytes", .object(sizes.map { .init($0.key, .integer($0.value)) })),
        ]
        if let duration = preflight.expectedDuration {
            members.append(
                .init("expectedDuration", .string(durationText(milliseconds: duration.wholeMilliseconds))))
        }
        members.append(.init("refusals", .array(errors.map(\.status))))
        return members
    }
}
