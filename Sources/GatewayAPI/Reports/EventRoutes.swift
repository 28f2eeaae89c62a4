import Delivery
import FCMWire
import Hummingbird
import JSON
import PushModel
import ServiceLifecycle
import Store
import Webhooks

/// `GET …/events`: what happens in a project, in order, for those who follow it.
enum EventRoutes {
    static let all: [Route] = [.project(.get, "events", .read, list)]

    /// The longest wait for an event: the answer is to come before clients and proxies give up.
    static let longestWait: Duration = .seconds(30)

    /// The events after a number, or from a time on, or from the oldest that is kept. With `wait` the answer to a question
    /// that finds none comes with the first one that is committed, or when the time is over.
    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let filter = EventFilter(
            project: call.project.id, isOnlyFailures: try query.flag("onlyFailures"), types: try types(query))
        let wait = try query.wait("wait", atMost: longestWait)
        // Before the first look: nothing that is committed after it goes unseen.
        let changes = call.services.store.changes.makeAsyncIterator()
        let start = try await start(query, call.services.store)
        var page = try await call.services.store.events(after: start.number, filter, limit: size)
        if start.isAsked { try check(start.number, in: page) }
        if let wait, page.events.isEmpty {
            page = try await EventWait(call.services, changes, filter, limit: size).page(after: page, within: wait)
        }
        return answer(page)
    }

    /// The types that are asked for, separated by commas; `nil`: all.
    private static func types(_ query: Query) throws(FCMError) -> Set<EventType>? {
        guard let text = query["types"] else { return nil }
        var types: Set<EventType> = []
        for word in text.split(separator: ",") {
            guard let type = EventType(rawValue: String(word)) else {
                throw .badRequest("types", "There is no type of events '\(String(word).excerpt)'.")
            }
            types.insert(type)
        }
        return types
    }

    /// Where a list begins, and whether the caller named the number.
    private static func start(
        _ query: Query, _ store: any EventStore
    ) async throws -> (number: EventNumber, isAsked: Bool) {
        if let text = query["after"] ?? query["pageToken"] {
            guard text != "now" else {
                return (try await store.events(after: .zero, EventFilter(), limit: 0).newest, false)
            }
            guard let number = Int64(text), number >= 0 else {
                throw FCMError.badRequest(
                    "after", "after must be the sequence of an event or now, not '\(text.excerpt)'.")
            }
            return (EventNumber(rawValue: number), true)
        }
        guard let time = try query.time("startTime") else { return (.zero, false) }
        return (try await store.lastEvent(before: time), false)
    }

    private static func check(_ number: EventNumber, in page: EventPage) throws(FCMError) {
        guard number < page.forgotten || number > page.newest else { return }
        var error = FCMError(
            .outOfRange,
            number > page.newest
                ? "There is no event \(number.rawValue) yet; the newest is \(page.newest.rawValue)."
                : "Events up to \(page.forgotten.rawValue) are not kept any more; "
                    + "the oldest is \(page.forgotten.rawValue + 1).")
        error.violations = [FieldViolation(field: "after", description: error.message)]
        error.metadata = [
            "oldestSequence": String(page.forgotten.rawValue + 1), "newestSequence": String(page.newest.rawValue),
        ]
        throw error
    }

    private static func answer(_ page: EventPage) -> Response {
        var members: [JSONValue.Member] = [
            .init("events", .array(page.events.map(EventView.json))),
            .init("lastSequence", .integer(page.last.rawValue)),
        ]
        if !page.isAtEnd { members.append(.init("nextPageToken", .string(String(page.last.rawValue)))) }
        return Response(json: .object(members))
    }
}

/// Waits for events that a filter keeps.
private struct EventWait: Sendable {
    /// The time between two looks that found none: followers of what is rare are not to read at each commit of a broadcast.
    private static let rest: Duration = .milliseconds(50)

    private let store: any EventStore
    private let clock: any Clock<Duration>
    private let changes: StoreChanges.AsyncIterator
    private let filter: EventFilter
    private let limit: Int

    init(
        _ services: RequestServices, _ changes: StoreChanges.AsyncIterator, _ filter: EventFilter, limit: Int
    ) {
        (store, clock) = (services.store, services.clock)
        (self.changes, self.filter, self.limit) = (changes, filter, limit)
    }

    /// The first page with an event after `page`, or where reading stands when the time is over or the gateway stops.
    func page(after page: EventPage, within wait: Duration) async throws -> EventPage {
        try await withThrowingTaskGroup(of: EventPage?.self) { group in
            group.addTask {
                // Cancelled when an event came first, or the gateway stops.
                await cancelWhenGracefulShutdown { await clock.pause(wait) }
                return nil
            }
            group.addTask { try await next(after: page) }
            defer { group.cancelAll() }
            while let ended = try await group.next() {
                if let reached = ended { return reached }
                // The time is over: the reader says how far it came, so that the next request goes on from there.
                group.cancelAll()
            }
            return page
        }
    }

    /// The first page with an event, or the last one that was read when the task is cancelled.
    private func next(after page: EventPage) async throws -> EventPage {
        var (page, changes) = (page, changes)
        while page.events.isEmpty, !Task.isCancelled {
            if page.isAtEnd {
                guard let change = await changes.next() else { return page }
                guard change.contains(.events) else { continue }
            }
            do {
                page = try await store.events(after: page.last, filter, limit: limit)
            } catch {
                if Task.isCancelled { return page }
                throw error
            }
            // Only cancelling ends it early, which the loop looks at.
            if page.events.isEmpty, page.isAtEnd { await clock.pause(Self.rest) }
        }
        return page
    }
}
