import PushModel
import Store

/// Which events an endpoint gets, beside what its types say.
struct EventSelection {
    /// Which endpoint.
    let endpoint: WebhookID
    let filter: WebhookFilter

    /// Whether the labels or topics of messages have to be known.
    var needsMessages: Bool { !filter.labels.isEmpty || !filter.topics.isEmpty }

    /// What is asked of the store for: what the types rule out is not unpacked.
    func events(of project: ProjectID, among types: [EventType], replaying replay: WebhookReplay?) -> EventFilter {
        var wanted = Set(types)
        if let replay, !replay.types.isEmpty { wanted.formIntersection(replay.types) }
        if filter.isOnlyFailures { wanted = wanted.filter(\.isFailure) }
        return EventFilter(project: project, types: wanted)
    }

    /// Whether an event is kept; of events of messages it is said once it is known what they are about.
    func keeps(_ event: Event) -> Bool {
        if filter.isOnlyFailures, !event.type.isFailure { return false }
        switch event.kind {
        case .delivery(let delivery):
            return keeps(delivery.delivery.app) && keeps(delivery.label, delivery.topic)
        case .receipt(let receipt):
            return keeps(receipt.app) && keeps(receipt.label, receipt.topic) && isSampled(receipt.registration)
        case .registrationEnded(let ended): return keeps(ended.app)
        case .route(let notice): return keeps(AppKey(notice.route.channel.platform, notice.route.app))
        case .click(let click): return keeps(click.app)
        // Of itself an endpoint is not told: enabled again it would be warned of what is over.
        case .webhook(let notice): return notice.endpoint != endpoint
        case .message, .referral, .forgotten: return true
        }
    }

    /// Whether an event of a message is kept.
    func keeps(_ message: MessageSummary) -> Bool {
        var topic: Topic?
        if case .topic(let named) = message.recipient { topic = named }
        return keeps(message.facts.label, topic)
    }

    private func keeps(_ app: AppKey) -> Bool {
        filter.apps.isEmpty || filter.apps.contains { $0.names(app) }
    }

    private func keeps(_ label: AnalyticsLabel?, _ topic: Topic?) -> Bool {
        (filter.labels.isEmpty || label.map(filter.labels.contains) ?? false)
            && (filter.topics.isEmpty || topic.map(filter.topics.contains) ?? false)
    }

    /// The same registrations each time, whatever the process: FNV-1a over the FID.
    private func isSampled(_ registration: RegistrationID) -> Bool {
        guard filter.sampling > 1 else { return true }
        let hash = registration.rawValue.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return hash % UInt64(filter.sampling) == 0
    }
}
