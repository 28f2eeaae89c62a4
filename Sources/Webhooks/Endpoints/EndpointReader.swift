import PushModel
import Store

/// Reads the events of an endpoint and makes deliveries of them, in order. A value: its owner hands it over whole, and a
/// reader that is made anew at the same place makes the same deliveries.
struct EndpointReader {
    /// What reading found.
    enum Finding: Hashable, Sendable {
        /// The next thing to send.
        case delivery(WebhookDelivery)
        /// Nothing was found in one step; there is more to look at.
        case scanned
        /// Nothing is ready; before `end` a batch waits for more events.
        case nothing(until: Timestamp?)
        /// The replay that was asked for is through.
        case replayIsOver
    }

    typealias Stores = WebhookStore & EventStore & LedgerStore

    /// The most that the store is asked in one step: between two of them the owner of the endpoint is heard, and it is
    /// written down how far it is.
    static let readsPerStep = 16
    /// The fewest events of a page: small batches are no reason to read one by one.
    private static let leastPage = 100

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
    /// What the store may still be asked in this step.
    private var readsLeft = 0
    /// Up to it events were read.
    private var scanned: EventNumber
    private var batch: DeliveryBatch
    /// Up to it everything was handed out or is not for the endpoint.
    private(set) var passed: EventNumber
    /// The newest event of all when it read last.
    private var newest = EventNumber.zero

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
        selection = EventSelection(endpoint: endpoint.id, filter: settings.filter)
        filter = selection.events(of: project, among: settings.types, replaying: replay)
    }

    /// How many events lie between what was read and the newest, as of the last page.
    var lag: Int64 { max(0, newest.rawValue - scanned.rawValue) }

    /// Whether a replay is read.
    var isReplaying: Bool { replay != nil }

    /// The next delivery, if one step finds it.
    mutating func next(at now: Timestamp) async throws(StoreError) -> Finding {
        readsLeft = Self.readsPerStep
        if let replay, replay.isOnlyFailed { return try await nextDeadLetter(replay) }
        while true {
            while let event = events.first {
                guard readsLeft > 0 else { return .scanned }
                if let delivery = try await take(event, at: now) { return .delivery(delivery) }
            }
            if let boundary, !batch.isEmpty, scanned >= boundary { return .delivery(close(byTime: true)) }
            if let replay, scanned >= replay.last {
                return batch.isEmpty ? .replayIsOver : .delivery(close(byTime: false))
            }
            guard readsLeft > 0 else { return .scanned }
            let page = try await read()
            if page.forgotten > scanned {
                // Retention was faster: what is gone is told once, behind what was read before.
                if !batch.isEmpty { return .delivery(close(byTime: false)) }
                let last = min(page.forgotten, replay?.last ?? page.forgotten)
                defer { (scanned, passed) = (last, last) }
                return .delivery(.gap(EventNumber(rawValue: scanned.rawValue + 1), last, at: now, of: endpoint))
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

    private mutating func read() async throws(StoreError) -> EventPage {
        readsLeft -= 1
        let limit = max(settings.batching.maxEvents, Self.leastPage)
        let page = try await store.events(after: scanned, filter, limit: limit)
        newest = page.newest
        return page
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
            guard try await selects(id) else {
                skip(event)
                return nil
            }
            // Of the others the figures say nothing yet.
            if change == .complete || change == .progress {
                readsLeft -= 1
                report = try await store.report(id, in: project)
            }
        }
        events.removeFirst()
        passed = event.number
        return .event(event, report: report, of: endpoint)
    }

    /// Whether the filter keeps events of a message.
    private mutating func selects(_ id: MessageID) async throws(StoreError) -> Bool {
        guard selection.needsMessages else { return true }
        readsLeft -= 1
        return try await store.summary(of: id, in: project).map(selection.keeps) ?? false
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
