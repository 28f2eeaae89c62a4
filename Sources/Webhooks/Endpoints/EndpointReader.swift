import PushModel
import Store

/// Reads the events of an endpoint and makes deliveries of them, in order. A value: its owner hands it over whole, and a
/// reader that is made anew at the same place makes the same deliveries.
struct EndpointReader {
    /// What reading found.
    enum Finding: Hashable, Sendable {
        /// The next thing to send.
        case delivery(WebhookDelivery)
        /// Nothing is ready; before `end` a batch waits for more events.
        case nothing(until: Timestamp?)
        /// The replay that was asked for is through.
        case replayIsOver
    }

    typealias Stores = WebhookStore & EventStore & LedgerStore

    private let endpoint: WebhookID
    private let project: ProjectID
    private let settings: WebhookSettings
    private let replay: WebhookReplay?
    private let filter: EventFilter
    private let selection: EventSelection
    private let store: any Stores
    /// Where a batch that was closed by time before a restart ended.
    private var boundary: EventNumber?
    /// Events that were read and are not in a delivery yet.
    private var events: ArraySlice<Event> = []
    /// Up to it events were read.
    private var scanned: EventNumber
    private var batch: DeliveryBatch
    /// Up to it everything was handed out or is not for the endpoint.
    private(set) var passed: EventNumber
    private var lastTime = Timestamp(milliseconds: 0)

    /// Reads on from where the endpoint stands: its replay first.
    init(_ endpoint: WebhookEndpoint, from store: any Stores) {
        self.endpoint = endpoint.id
        project = endpoint.project
        settings = endpoint.settings
        replay = endpoint.position.replay
        self.store = store
        boundary = endpoint.position.boundary
        scanned = replay?.cursor ?? endpoint.position.cursor
        passed = scanned
        batch = DeliveryBatch(settings.batching)
        selection = EventSelection(filter: settings.filter)
        let types = replay?.types.isEmpty == false ? replay?.types ?? [] : settings.types
        filter = EventFilter(project: project, types: Set(types).intersection(settings.types))
    }

    /// Whether a replay is read.
    var isReplaying: Bool { replay != nil }

    /// The next delivery. It goes on reading until there is one, or nothing more is committed.
    mutating func next(at now: Timestamp) async throws(StoreError) -> Finding {
        if let replay, replay.isOnlyFailed { return try await nextDeadLetter(replay) }
        while true {
            while let event = events.first {
                if let delivery = try await take(event, at: now) { return .delivery(delivery) }
            }
            if let boundary, !batch.isEmpty, scanned >= boundary { return .delivery(close(byTime: true)) }
            if let replay, scanned >= replay.last {
                return batch.isEmpty ? .replayIsOver : .delivery(close(byTime: false))
            }
            let page = try await read()
            if page.forgotten > scanned, !isReplaying {
                // Retention was faster: what is gone is told once, behind what was read before.
                if !batch.isEmpty { return .delivery(close(byTime: false)) }
                defer { (scanned, passed) = (page.forgotten, page.forgotten) }
                return .delivery(
                    .gap(EventNumber(rawValue: scanned.rawValue + 1), page.forgotten, at: now, of: endpoint))
            }
            events = page.events[...]
            if let replay { events = events.prefix { $0.number <= replay.last } }
            scanned = page.last
            guard events.isEmpty else { continue }
            if batch.isEmpty { passed = scanned }
            guard page.isAtEnd else { continue }
            if isReplaying { continue }
            guard let end = batch.end else { return .nothing(until: nil) }
            if now >= end { return .delivery(close(byTime: true)) }
            return .nothing(until: end)
        }
    }

    private mutating func nextDeadLetter(_ replay: WebhookReplay) async throws(StoreError) -> Finding {
        let letter = try await store.deadLetter(of: endpoint, after: passed, upTo: replay.last)
        guard let letter else { return .replayIsOver }
        passed = letter.event
        return .delivery(.revival(letter))
    }

    private func read() async throws(StoreError) -> EventPage {
        try await store.events(after: scanned, filter, limit: settings.batching.maxEvents)
    }

    /// Takes the next event; it is left where it is when a delivery before it comes first.
    private mutating func take(_ event: Event, at now: Timestamp) async throws(StoreError) -> WebhookDelivery? {
        guard selection.keeps(event) else {
            skip(event)
            return nil
        }
        if event.type.isOfDevice {
            guard batch.add(event, at: now) else { return close(byTime: false) }
            events.removeFirst()
            if event.number == boundary { return close(byTime: true) }
            return batch.isFull ? close(byTime: false) : nil
        }
        if !batch.isEmpty { return close(byTime: false) }
        var report: DeliveryReport?
        if case .message(let id, let change) = event.kind {
            if selection.needsMessages || change == .complete || change == .progress {
                report = try await store.report(id, in: project)
            }
            guard report.map(selection.keeps) ?? !selection.needsMessages else {
                skip(event)
                return nil
            }
            // Of the others the figures say nothing yet.
            if change != .complete && change != .progress { report = nil }
        }
        events.removeFirst()
        passed = event.number
        return .event(event, report: report, of: endpoint)
    }

    private mutating func skip(_ event: Event) {
        events.removeFirst()
        if batch.isEmpty { passed = event.number }
    }

    private mutating func close(byTime isClosedByTime: Bool) -> WebhookDelivery {
        let delivery = batch.delivery(to: endpoint, isClosedByTime: isClosedByTime)
        batch = DeliveryBatch(settings.batching)
        boundary = nil
        passed = delivery.last
        return delivery
    }
}
