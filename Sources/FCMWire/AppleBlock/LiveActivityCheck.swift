import JSON
import PushModel

/// Checks the `aps` of a Live Activity push: each event has its keys (Apple, "Starting and updating Live Activities
/// with ActivityKit push notifications"). A device silently ignores a push that lacks one.
struct LiveActivityCheck {
    /// Keys that each event must have.
    private static let keys = ["timestamp", "event", "content-state"]
    /// Keys that `event: start` must have and others may not.
    private static let startKeys = ["attributes-type", "attributes"]
    /// Keys that `event: start` may have and others may not.
    private static let startOptions = ["input-push-channel", "input-push-token"]

    private let aps: [JSONValue.Member]

    /// - Parameter aps: the finished dictionary; what is in it has the right type.
    init(aps: [JSONValue.Member]) {
        self.aps = aps
    }

    /// What is missing and what belongs to another event.
    var violations: [FieldViolation] {
        let required = Self.keys.filter { !has($0) }.map { missing($0, "a Live Activity") }
        guard case .string(let event)? = value("event") else { return required }
        return required + (event == "start" ? startViolations : laterViolations(event))
    }

    private var startViolations: [FieldViolation] {
        var found = Self.startKeys.filter { !has($0) }.map { missing($0, "the event start of a Live Activity") }
        if !aps.contains(where: { $0.name == "alert" && $0.isShown }) {
            found.append(missing("alert", "the event start of a Live Activity"))
        }
        return found
    }

    private func laterViolations(_ event: String) -> [FieldViolation] {
        (Self.startKeys + Self.startOptions).filter(has).map {
            .aps($0, "\($0) belongs to the event start of a Live Activity, not to \(event).")
        }
    }

    private func missing(_ name: String, _ owner: String) -> FieldViolation {
        .aps(name, "\(name) is required for \(owner).")
    }

    private func has(_ name: String) -> Bool { value(name) != nil }

    private func value(_ name: String) -> JSONValue? {
        aps.last { $0.name == name && $0.value != .null }?.value
    }
}
