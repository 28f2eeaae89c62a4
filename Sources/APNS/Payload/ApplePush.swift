package import FCMWire
package import PushModel

/// What one message says to the devices of one app: the finished body and header values, built once and shared by all
/// pushes of a broadcast.
package final class ApplePush: ComposedPush {
    /// The body: JSON, at most ``PushType/payloadLimitBytes``.
    package let payload: [UInt8]
    /// `apns-push-type`.
    package let pushType: PushType
    /// `apns-topic`, suffix included.
    package let topic: String
    /// `apns-priority`.
    package let priority: PushPriority
    /// `apns-expiration`.
    package let expiration: APNSExpiration
    /// `apns-collapse-id`.
    package let collapseID: String?
    /// The sender's own `apns-id`; `nil`: derived from message and registration.
    package let id: PushID?
    /// Where `"google.c.fid":"<fid>",` is spliced into ``payload`` for each device (`firebaseKeys: full`); `nil`: the
    /// bytes go out as they are.
    package let registrationIDOffset: Int?

    /// Whether ``registrationIDOffset`` is set.
    package var isPersonal: Bool { registrationIDOffset != nil }

    /// Takes finished values.
    package init(
        payload: [UInt8], pushType: PushType, topic: String, priority: PushPriority, expiration: APNSExpiration,
        collapseID: String?, id: PushID?, registrationIDOffset: Int?
    ) {
        self.payload = payload
        self.pushType = pushType
        self.topic = topic
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
        self.registrationIDOffset = registrationIDOffset
    }

    /// The body for one registration: ``payload``, or with the FID spliced in.
    package func payload(for registration: RegistrationID) -> [UInt8] {
        guard let offset = registrationIDOffset else { return payload }
        var bytes: [UInt8] = []
        let entry = Self.registrationIDEntry(registration.rawValue)
        bytes.reserveCapacity(payload.count + entry.utf8.count)
        bytes.append(contentsOf: payload[..<offset])
        bytes.append(contentsOf: entry.utf8)
        bytes.append(contentsOf: payload[offset...])
        return bytes
    }
}
