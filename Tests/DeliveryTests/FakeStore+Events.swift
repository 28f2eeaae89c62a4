import PushModel
import Store

// Events of the store in memory: each is appended in the call that makes it.
extension FakeStore: EventStore {
    func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage {
        let newest = EventNumber(rawValue: forgotten + Int64(log.count))
        let first = max(number.rawValue, forgotten)
        let rest = log.filter { $0.number.rawValue > first }
        let kept = rest.filter { event in
            (filter.project == nil || event.project == filter.project) && (!filter.isOnlyFailures || event.isFailure)
        }
        let events = Array(kept.prefix(limit))
        let last = kept.count > limit ? events.last?.number ?? EventNumber(rawValue: first) : max(newest, number)
        return EventPage(
            events: events, last: last, isAtEnd: last >= newest, forgotten: EventNumber(rawValue: forgotten),
            newest: newest)
    }

    func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber {
        let first = log.first { $0.time >= time }
        return EventNumber(rawValue: (first?.number.rawValue ?? forgotten + Int64(log.count) + 1) - 1)
    }

    func note(_ notices: [RouteNotice], at time: Timestamp) async throws(StoreError) {
        for notice in notices { add(.route(notice), notice.route.project, at: time) }
        source.post(.events)
    }

    func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let count = log.prefix(limit).prefix { $0.time < time }.count
        log.removeFirst(count)
        forgotten += Int64(count)
        return count
    }

    nonisolated var changes: StoreChanges { source.changes }

    /// Appends an event.
    func add(_ kind: Event.Kind, _ project: ProjectID, at time: Timestamp) {
        log.append(
            Event(
                number: EventNumber(rawValue: forgotten + Int64(log.count) + 1), project: project, time: time,
                kind: kind))
    }

    /// Appends the end of a delivery.
    func add(_ entry: LedgerEntry, of key: Key) {
        guard let book = books[key.message], let registration = registrations[key.registration] else { return }
        deliveryEvents += 1
        add(
            .delivery(
                DeliveryEvent(
                    message: key.message, topic: nil, label: book.facts.label,
                    delivery: DeliveryRecord(
                        registration: registration.id, app: registration.appKey, outcome: entry.outcome,
                        reason: entry.reason, history: entry.history, endedAt: entry.time,
                        latencyMilliseconds: entry.latencyMilliseconds, pushID: entry.pushID))),
            book.message.project, at: entry.time)
    }
}

extension Event {
    fileprivate var isFailure: Bool {
        switch kind {
        case .delivery(let delivery): delivery.delivery.outcome != .accepted
        case .registrationEnded(let ended): ended.cause == .unregistered
        case .message: false
        case .referral(let step): step.rejection != nil
        case .route, .forgotten: true
        }
    }
}
