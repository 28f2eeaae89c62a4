package import FCMWire
import JSON
package import PushModel

extension ApplePush {
    /// Builds body and headers of `content` for one app, by the table in `APNSMapping`, and checks what depends on the
    /// app: its credential, its topic, Apple's limits on the finished bytes. Whether the content is right in itself was
    /// checked when it was decoded.
    ///
    /// - Throws: ``InvalidMessage`` that names the field, for size both sizes.
    package convenience init(_ content: FCMMessage, in context: PushContext) throws(InvalidMessage) {
        // What goes to APNs is composed for apps that are reached by it.
        guard let service = context.app.deviceService else { preconditionFailure("an app of another platform") }
        if context.isForMany { try content.checkForBroadcast() }
        var template = AppleTemplate(content)
        context.fill(&template.values, label: content.label)
        // A device-management wake-up is exactly `{"mdm": …}`.
        var keys = template.headers.namedPushType == .mdm ? FirebaseKeys.none : service.firebaseKeys
        // A publication is for all that subscribed: no FID stands in it.
        if context.broadcast != nil, keys == .full { keys = .standard }
        let parts = AppleParts(try template.composed(keys: keys), of: content)
        if let policy = context.broadcast { try parts.checkForBroadcast(policy, content) }
        try parts.checkCredential(service.credential, of: context.app.id)
        let topic = try parts.topic(of: context.app.id)
        let payload = parts.payload.canonicalBytes
        let offset = keys == .full ? 1 : nil
        try parts.checkSize(
            of: payload, isSpliced: offset != nil, limit: context.broadcast.map { _ in PushType.broadcastLimitBytes },
            template: template)
        self.init(
            payload: payload, pushType: parts.pushType, topic: topic, priority: parts.priority,
            expiration: parts.headers.expiration ?? parts.pushType.defaultExpiration ?? .until(context.expiresAt),
            collapseID: context.broadcast == nil ? parts.headers.collapseID ?? context.collapseID(of: parts) : nil,
            id: parts.headers.id,
            registrationIDOffset: offset)
    }

    /// What is spliced in at ``registrationIDOffset`` for one registration: right behind the opening brace, in front
    /// of the gateway's other keys.
    static func registrationIDEntry(_ id: String) -> String {
        "\"\(APNSMapping.registrationIDKey)\":\"\(id)\","
    }

    /// Its size: all FIDs are as long as this one.
    static let registrationIDEntryBytes = registrationIDEntry(String(repeating: "c", count: 22)).utf8.count
}

extension FCMMessage {
    /// What names one device cannot go to many.
    fileprivate func checkForBroadcast() throws(InvalidMessage) {
        if apns.headers.id != nil {
            throw InvalidMessage(header: "apns-id", "apns-id names one push: it cannot be set for several devices.")
        }
        if apns.liveActivityToken != nil {
            throw InvalidMessage([
                FieldViolation(
                    field: "message.apns.live_activity_token",
                    description: "A Live Activity token names one activity: it cannot be set for several devices.")
            ])
        }
    }
}

extension AppleTemplate {
    /// The field that alone makes up more than half of `size` bytes of payload; otherwise the message.
    func largestField(of size: Int) -> String {
        // The sender's own alert replaces title and body.
        let replaced: Set<FCMSource> =
            values[.payload]?["aps"]?["alert"].map { $0 != .null } ?? false ? [.title, .body] : []
        let fields: [FCMSource] = [.title, .body, .data, .payload]
        let largest = fields.first { source in
            !replaced.contains(source) && (values[source]?.canonicalBytes.count ?? 0) > size / 2
        }
        return largest.map { "message.\($0.rawValue)" } ?? "message"
    }
}

extension PushContext {
    /// The collapse id of an alert whose sender gave none. It has at most 64 bytes, as a message id has.
    fileprivate func collapseID(of parts: AppleParts) -> String? {
        collapsesRepeats && parts.pushType == .alert ? message.rawValue : nil
    }

    /// What the gateway adds.
    fileprivate func fill(_ values: inout SourceValues, label: AnalyticsLabel?) {
        values[.messageID] = .string(message.rawValue)
        values[.sender] = .string(String(projectNumber))
        if let broadcastTopic { values[.broadcastTopic] = .string("/topics/" + broadcastTopic.rawValue) }
        if let label {
            values[.isLabelled] = .string("1")
            values[.label] = .string(label.rawValue)
        }
    }
}
