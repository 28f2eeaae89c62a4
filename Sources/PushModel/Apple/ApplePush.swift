/// What one message says to the devices of one app: the finished body and header values, built once and shared by all
/// pushes of a broadcast.
package final class ApplePush: Sendable {
    /// The body: JSON, at most ``PushType/payloadLimitBytes``.
    package let payload: [UInt8]
    /// `apns-push-type`.
    package let pushType: PushType
    /// `apns-topic`, suffix included.
    package let topic: String
    /// `apns-priority`.
    package let priority: APNSPriority
    /// `apns-expiration`.
    package let expiration: APNSExpiration
    /// `apns-collapse-id`.
    package let collapseID: String?
    /// The sender's own `apns-id`; `nil`: derived from message and registration.
    package let id: APNSID?
    /// Where `"google.c.fid":"<fid>",` is spliced into ``payload`` for each device (`firebaseKeys: full`); `nil`: the
    /// bytes go out as they are.
    package let registrationIDOffset: Int?

    /// Takes finished values.
    package init(
        payload: [UInt8], pushType: PushType, topic: String, priority: APNSPriority, expiration: APNSExpiration,
        collapseID: String?, id: APNSID?, registrationIDOffset: Int?
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

    /// What the payload depends on beside the message's content.
    package struct Context: Sendable {
        /// The message's id (`gcm.message_id`).
        package var message: MessageID
        /// The sender's project number (`google.c.sender.id`).
        package var projectNumber: Int64
        /// The topic of a broadcast (`from`).
        package var broadcastTopic: Topic?
        /// Whether it goes to more than one registration by its target: what names one device is refused then.
        package var isForMany: Bool
        /// Whether an alert without a collapse id gets the message's id as one, so that a repeat of the push replaces
        /// the first on the screen.
        package var collapsesRepeats: Bool
        /// The app of the devices.
        package var app: App
        /// When the message stops being worth delivering: the `apns-expiration` unless the sender set one.
        package var expiresAt: Timestamp

        /// Puts a context together.
        package init(
            message: MessageID, projectNumber: Int64, broadcastTopic: Topic?, isForMany: Bool = false,
            collapsesRepeats: Bool = false, app: App, expiresAt: Timestamp
        ) {
            self.message = message
            self.projectNumber = projectNumber
            self.broadcastTopic = broadcastTopic
            self.isForMany = isForMany || broadcastTopic != nil
            self.collapsesRepeats = collapsesRepeats
            self.app = app
            self.expiresAt = expiresAt
        }
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
