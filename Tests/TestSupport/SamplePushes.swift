package import PushModel

/// A composed push of no upstream: its body is the same for each device.
package final class PlainPush: ComposedPush {
    package let payload: [UInt8]
    package let topic: String
    package let isPersonal = false
    package let priority = PushPriority.immediate
    package let collapseID: String? = nil

    /// Makes a push of `text` for an app that the upstream knows as `topic`.
    package init(_ text: String = "Hi", topic: String = "com.example.app") {
        payload = Array(text.utf8)
        self.topic = topic
    }

    package func payload(for registration: RegistrationID) -> [UInt8] { payload }
}

/// A push for the project `demo`, to a device token that begins with `number`.
package func makePush(
    _ number: Int64 = 1, app: String = "com.example.app", environment: PushEnvironment = .production,
    lane: Lane = .bulk, isProven: Bool = true, isAwaited: Bool = false, composed content: any ComposedPush,
    payload: [UInt8]? = nil
) throws -> Push {
    let route = PushRoute(
        project: try known(ProjectID(rawValue: "demo")), app: try known(AppID(rawValue: app)),
        channel: .apns(environment))
    let token = bigEndianBytes(number) + [UInt8](repeating: 0xab, count: 24)
    return Push(
        route: route, lane: lane, address: .apple(try known(DeviceToken(bytes: token)), environment),
        isProven: isProven,
        isAwaited: isAwaited, content: content, payload: payload ?? content.payload,
        id: PushID(
            message: try known(MessageID(rawValue: "0:1-a")), registration: RegistrationKey(rawValue: number)))
}

private func bigEndianBytes(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
}

/// A sample that a value could not be made from.
private struct BadSample: Error {}

private func known<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw BadSample() }
    return value
}
