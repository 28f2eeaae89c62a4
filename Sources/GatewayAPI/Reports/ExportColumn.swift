import JSON
import PushModel
import Store

/// The columns of an export: those of FCM's BigQuery table in its order (fcm.md §5.1), then our own.
enum ExportColumn: String, CaseIterable, Sendable {
    case eventTimestamp = "event_timestamp"
    case projectNumber = "project_number"
    case messageID = "message_id"
    case instanceID = "instance_id"
    case messageType = "message_type"
    case sdkPlatform = "sdk_platform"
    case appName = "app_name"
    case collapseKey = "collapse_key"
    case priority = "priority"
    case timeToLive = "ttl"
    case topic = "topic"
    case bulkID = "bulk_id"
    case event = "event"
    case analyticsLabel = "analytics_label"
    case outcome = "outcome"
    case reason = "reason"
    case attempts = "attempts"
    case latency = "latency_ms"
    case apnsID = "apns_id"
    case credentialID = "credential_id"
    case credentialName = "credential_name"
    case credentialRole = "credential_role"
    case credentialAddress = "credential_address"
    case upstreamID = "upstream_id"
    case grantedTimeToLive = "granted_ttl"

    /// The column's type in BigQuery.
    var type: String {
        switch self {
        case .eventTimestamp: "TIMESTAMP"
        case .projectNumber, .priority, .timeToLive, .bulkID, .attempts, .latency, .grantedTimeToLive: "INTEGER"
        case .messageID, .instanceID, .messageType, .sdkPlatform, .appName, .collapseKey, .topic, .event,
            .analyticsLabel, .outcome, .reason, .apnsID, .upstreamID, .credentialID, .credentialName, .credentialRole,
            .credentialAddress:
            "STRING"
        }
    }

    /// What the column holds, for the schema file.
    var explanation: String {
        switch self {
        case .eventTimestamp: "When the delivery ended, or when the device says what it reports."
        case .projectNumber: "The sender's project number."
        case .messageID: "The message, the last segment of its name."
        case .instanceID: "The app install: its Firebase installation id."
        case .messageType: "DISPLAY_NOTIFICATION or DATA_MESSAGE."
        case .sdkPlatform: "IOS, ANDROID or WEB."
        case .appName: "The bundle id, the package name, or the host of a web app."
        case .collapseKey:
            "What replaces what on the device: apns-collapse-id, collapse_key or Topic, by the device's platform."
        case .priority: "The priority on the device's platform, as apns-priority has it."
        case .timeToLive: "Seconds from accept to expiry, on the device's platform."
        case .topic: "The topic of a broadcast."
        case .bulkID: "The same for all deliveries of one broadcast."
        case .event:
            "FCM's name for what happened, or MESSAGE_EXPIRED, MESSAGE_CANCELLED; of receipts MESSAGE_DELIVERED, "
                + "MESSAGE_OPEN, MESSAGE_IMPRESSION."
        case .analyticsLabel: "The sender's label."
        case .outcome: "ACCEPTED, REJECTED, EXPIRED or CANCELLED; none for a receipt."
        case .reason: "The push service's reason, or the last cause of an expired delivery."
        case .attempts: "Attempts made."
        case .latency: "Milliseconds from accept to the end."
        case .apnsID: "The apns-id, of Apple's devices."
        case .credentialID: "Who sent the message: the id of an API key, or the email of a service account."
        case .credentialName: "The name of that key."
        case .credentialRole: "The role of that credential."
        case .credentialAddress: "The IP address that the message was sent from."
        case .upstreamID:
            "The push service's own id of an accepted push: Google's message name, or the Location of a browser's service."
        case .grantedTimeToLive: "For how many seconds a browser's push service said that it keeps the push."
        }
    }

    /// The value in a row of the ledger; `nil` where there is none.
    func value(of row: ExportRow, in project: Project) -> Value? {
        let delivery = row.delivery
        return switch self {
        case .eventTimestamp: (row.receipt?.time ?? delivery.endedAt).map { .text($0.rfc3339) }
        case .projectNumber: .number(project.number)
        case .messageID: .text(row.message.rawValue)
        case .instanceID: .text(delivery.registration.rawValue)
        case .messageType: .text(row.facts.isDisplayed ? "DISPLAY_NOTIFICATION" : "DATA_MESSAGE")
        case .sdkPlatform: .text(Self.name(of: delivery.app.platform))
        case .appName: .text(delivery.app.id.rawValue)
        case .collapseKey: row.facts.collapseKey.map { .text($0) }
        case .priority: .number(Int64(row.facts.priority))
        case .timeToLive: .number(row.facts.timeToLiveSeconds)
        case .topic: row.topic.map { .text($0.rawValue) }
        case .bulkID: row.bulkID.map { .number($0) }
        case .event:
            row.receipt.map { .text(ExportEvent.name(of: $0.kind)) }
                ?? delivery.outcome.map { .text(ExportEvent.name(of: $0, reason: delivery.reason)) }
        case .analyticsLabel: row.facts.label.map { .text($0.rawValue) }
        case .outcome: delivery.outcome.map { .text($0.rawValue.uppercased()) }
        case .reason: delivery.reason.map { .text($0) }
        case .attempts: row.receipt == nil ? .number(Int64(delivery.history.attempts)) : nil
        case .latency: delivery.latencyMilliseconds.map { .number($0) }
        case .apnsID: delivery.app.platform == .apple ? delivery.pushID.map { .text($0.rawValue) } : nil
        case .credentialID: row.facts.credential.map { .text($0.id) }
        case .credentialName: row.facts.credential?.name.map { .text($0) }
        case .credentialRole: row.facts.credential?.role.map { .text($0.rawValue) }
        case .credentialAddress: row.facts.credential?.address.map { .text($0) }
        case .upstreamID: Self.acceptance(of: delivery)?.id.map { .text($0) }
        case .grantedTimeToLive: Self.acceptance(of: delivery)?.seconds.map { .number($0) }
        }
    }

    private static func acceptance(of delivery: DeliveryRecord) -> Acceptance? {
        delivery.upstreamID.flatMap(Acceptance.init(text:))
    }

    /// FCM's word for a platform.
    private static func name(of platform: Platform) -> String {
        switch platform {
        case .apple: "IOS"
        case .android: "ANDROID"
        case .web: "WEB"
        }
    }

    /// A value of a column.
    enum Value: Hashable, Sendable {
        /// STRING or TIMESTAMP.
        case text(String)
        /// INTEGER.
        case number(Int64)
    }

    /// The schema file that `bq load --schema` takes.
    static var schema: JSONValue {
        .array(
            allCases.map { column in
                .object([
                    .init("name", .string(column.rawValue)), .init("type", .string(column.type)),
                    .init("mode", .string("NULLABLE")), .init("description", .string(column.explanation)),
                ])
            })
    }
}
