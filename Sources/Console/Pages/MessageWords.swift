import FCMWire
import JSON
import PushModel
import Store

extension MessageSummary {
    /// To whom, in words.
    var target: String {
        switch recipient {
        case .registration(let id) where id.isOfChannel: "Broadcast channel \(id)"
        case .registration(let id): "Device \(id)"
        case .topic(let topic): "Topic \(topic)"
        case .condition(let condition): "Condition \(condition.text)"
        case .list(let count): Format.count(count, "device") + " by name"
        case .user(let user, let count): "User \(user) (\(Format.count(count, "device")))"
        }
    }

    /// Who sent it, in words.
    var sender: String { facts.credential?.words ?? "not kept" }
}

extension CredentialUse {
    /// Who it was, in words.
    var words: String {
        if isOperator { return name.map { "operator \($0)" } ?? id }
        if id == Self.commandID { return "command" + (name.map { " of \($0)" } ?? "") }
        if id == Self.gatewayID { return "the gateway" }
        return id.contains("@") ? id : "key " + (name.map { "\($0) (\(id))" } ?? id)
    }
}

extension MessageState {
    /// The class of its tag.
    var kind: String {
        switch self {
        case .active: "info"
        case .paused: "warn"
        case .cancelled: "dim"
        case .complete: "good"
        }
    }

    /// What it is called.
    var word: String { rawValue.lowercased() }
}

extension LedgerOutcome {
    /// The class of its tag.
    var kind: String {
        switch self {
        case .accepted: "good"
        case .rejected: "bad"
        case .expired: "warn"
        case .cancelled: "dim"
        }
    }
}

extension DeliveryRecord {
    /// How it ended, in a word.
    var outcomeWord: String { outcome?.rawValue ?? "in flight" }

    /// The class of its tag.
    var kind: String { outcome?.kind ?? "info" }

    /// What the device reported.
    var receiptWords: String {
        ReceiptKind.allCases.filter { receipts[$0] != nil }.map(\.rawValue).joined(separator: ", ")
    }
}

extension ConsoleCall {
    /// What a reason of the ledger means.
    func meaning(of reason: String) -> String {
        services.refusals[reason]?.meaning ?? Self.ownReasons[reason] ?? ""
    }

    /// The reasons that no push service gave.
    private static let ownReasons = [
        "Cancelled": "The message was cancelled before this delivery was attempted.",
        "TimeToLive": "The message’s time ran out before the push service took it.",
        "Unregistered": "The registration had ended when its turn came.",
    ]

    /// What a message says, as far as it is kept.
    func content(of message: Message) -> FCMMessage? {
        guard !message.body.isRemoved else { return nil }
        // A stored content that can't be read is shown as none: the doctor's check names it.
        return try? FCMMessage.content(of: message.body)
    }

    /// The rows that lists show of reports.
    func rows(of reports: [DeliveryReport], _ titles: [MessageID: String]) -> [Model] {
        reports.map { report in
            let message = report.message
            let accepted = report.ended[.accepted] ?? 0
            var row: Model = [
                "url": "\(root)/messages/\(message.id)", "title": titles[message.id] ?? message.id.rawValue,
                "target": message.target, "state": report.state.word, "stateKind": report.state.kind,
                "time": Format.time(message.acceptedAt), "sender": message.sender,
                "recipients": Format.number(report.recipients), "accepted": Format.number(accepted),
                "received": Format.share(report.receipts[.received] ?? 0, of: accepted),
                "opened": Format.share(report.receipts[.opened] ?? 0, of: accepted),
                "figures": "\(Format.number(accepted)) of \(Format.number(report.recipients)) accepted",
            ]
            row["tag"] = message.facts.label?.rawValue
            return row.merging(ProgressBar.model(report)) { own, _ in own }
        }
    }

    /// What messages are called: the title of their notification, or the beginning of what they say.
    func titles(of ids: [MessageID]) async throws -> [MessageID: String] {
        var titles: [MessageID: String] = [:]
        for message in try await store.messages(ids, in: project.id) {
            guard let content = content(of: message) else { continue }
            let text = content.previewTitle.isEmpty ? content.previewBody : content.previewTitle
            titles[message.id] = text.isEmpty ? "Data message" : String(text.prefix(80))
        }
        return titles
    }
}

extension FCMMessage {
    /// The title that a device shows.
    var previewTitle: String { alert?["title"]?.stringValue ?? notification?.title ?? webNotification("title") ?? "" }

    /// The body that a device shows.
    var previewBody: String {
        alert?["body"]?.stringValue ?? alert?.stringValue ?? notification?.body ?? webNotification("body") ?? ""
    }

    private var alert: JSONValue? { apns.payload?["aps"]?["alert"] }

    private func webNotification(_ name: String) -> String? {
        source["android"]?["notification"]?[name]?.stringValue ?? source["webpush"]?["notification"]?[name]?.stringValue
    }
}
