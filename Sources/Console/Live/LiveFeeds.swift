import Delivery
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import PushModel
import ServiceLifecycle
import Store
import Synchronization

/// Streams the parts of pages that follow what happens, as server-sent events (HTML §9.2).
///
/// A feed waits for the store to say that something was committed, reads the page's figures once and sends the part if it
/// is another than the last: figures are absolute, so one that lost its connection misses nothing when it comes back. Its
/// events are numbered as those of the event table.
struct LiveFeeds: Sendable {
    /// At most so many updates a second: four.
    static let rest: Duration = .milliseconds(250)
    /// The longest rest after an update that took long.
    static let longestRest: Duration = .seconds(10)
    /// How often a silent feed says that it is there: proxies end what is silent.
    static let ping: Duration = .seconds(15)
    /// How long a feed lasts; the browser begins another, with the session checked anew.
    static let longest: Duration = .seconds(600)
    /// How many feeds there may be at a time; more are told to come later.
    static let limit = 200
    /// How many of one operator.
    static let limitOfOperator = 20
    /// Parts are rendered with this in place of the token of a session's forms: they are for all who see the page.
    static let tokenPlace = SessionSecret.random()

    private let clock: any Clock<Duration>
    private let count = FeedCount()
    private let renders = SharedRenders()

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    /// Answers with a feed.
    ///
    /// - Parameters:
    ///   - isAllowed: whether the session still lasts and may see the page.
    ///   - render: makes the part, with ``tokenPlace`` for the token of forms: once for all feeds of one page and role that
    ///     wait for it; `nil`: the page has none.
    func response(
        _ call: ConsoleCall, isAllowed: @escaping @Sendable () async throws -> Bool,
        render: @escaping @Sendable () async throws -> String?
    ) -> Response {
        let owner = call.signedIn.owner.name
        guard count.enter(owner) else {
            return .console(
                "Too many pages follow what happens.\n", "text/plain", status: .serviceUnavailable,
                and: [.retryAfter: "5"])
        }
        var headers = HTTPFields.ofConsole
        headers[.contentType] = "text/event-stream"
        let page = "\(call.role.rawValue) \(call.visit.request.uri.string)"
        let token = call.signedIn.formToken
        let feed = Feed(clock: clock, store: call.store) { [renders] in
            guard try await isAllowed() else { return nil }
            return try await renders.part(of: page, render)?.replacing(Self.tokenPlace, with: token)
        }
        let place = FeedPlace(count, of: owner)
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                defer { place.leave() }
                try await feed.run(&writer)
                try await writer.finish(nil)
            })
    }
}

/// How many feeds there are, by operator.
final class FeedCount: Sendable {
    private let counts = Mutex<[OperatorName: Int]>([:])

    /// Takes a place; `false`: there is none.
    func enter(_ name: OperatorName) -> Bool {
        counts.withLock { counts in
            let own = counts[name] ?? 0
            guard own < LiveFeeds.limitOfOperator, counts.values.reduce(0, +) < LiveFeeds.limit else { return false }
            counts[name] = own + 1
            return true
        }
    }

    /// Gives a place back.
    func leave(_ name: OperatorName) {
        counts.withLock { counts in
            let rest = (counts[name] ?? 0) - 1
            counts[name] = rest > 0 ? rest : nil
        }
    }
}

/// A feed's place among all, given back once: also when its answer is never written.
private final class FeedPlace: Sendable {
    private let count: FeedCount
    private let name: OperatorName
    private let isHeld = Mutex(true)

    init(_ count: FeedCount, of name: OperatorName) {
        self.count = count
        self.name = name
    }

    deinit { leave() }

    func leave() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { count.leave(name) }
    }
}

/// One page's feed.
private struct Feed: Sendable {
    let clock: any Clock<Duration>
    let store: any EventStore
    let render: @Sendable () async throws -> String?

    @concurrent func run(_ writer: inout any ResponseBodyWriter) async throws {
        let changes = store.changes.makeAsyncIterator()
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        // What the page showed when it was loaded is not known: the first part is sent whatever it says.
        var shown: String?
        let end = SteadyEnd(clock, after: LiveFeeds.longest)
        while !Task.isCancelled, !end.isReached {
            let start = ContinuousClock.now
            guard let part = try await render() else {
                try await writer.write(ByteBuffer(string: "event: over\ndata: \n\n"))
                return
            }
            if part != shown { try await send(part, &writer) }
            shown = part
            // Several commits of a broadcast make one update; what takes long to render rests longer, so that pages which
            // are open take no more than a tenth of a core each.
            let rest = min(max(LiveFeeds.rest, start.duration(to: .now) * 9), LiveFeeds.longestRest)
            try await clock.sleep(for: rest)
            var happened: Bool? = false
            while happened == false {
                happened = await hasEvents(changes)
                if happened == false { try await writer.write(ByteBuffer(string: ": \n\n")) }
                if end.isReached { return }
            }
            if happened == nil { return }
        }
    }

    @concurrent private func send(_ part: String, _ writer: inout any ResponseBodyWriter) async throws {
        let newest = try await store.events(after: .zero, EventFilter(), limit: 0).newest
        let lines = part.split(separator: "\n", omittingEmptySubsequences: true).map { "data: \($0)\n" }.joined()
        try await writer.write(ByteBuffer(string: "id: \(newest.rawValue)\nevent: part\n\(lines)\n"))
    }

    /// Waits until something was committed that pages show; `false`: nothing was for a while. `nil`: the feed is to end.
    private func hasEvents(_ changes: StoreChanges.AsyncIterator) async -> Bool? {
        await cancelWhenGracefulShutdown { [clock] in
            await withTaskGroup(of: Bool?.self) { group in
                group.addTask {
                    var changes = changes
                    while let change = await changes.next() {
                        if !change.isDisjoint(with: [.events, .control, .projects]) { return true }
                    }
                    return nil
                }
                group.addTask {
                    // Cancelled when something was committed first, or the gateway stops.
                    await clock.pause(LiveFeeds.ping)
                    return Task.isCancelled ? nil : false
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        }
    }
}

/// When a time of a clock is reached.
private struct SteadyEnd: Sendable {
    private let hasPassed: @Sendable () -> Bool

    var isReached: Bool { hasPassed() }

    init(_ clock: some Clock<Duration>, after duration: Duration) {
        let end = clock.now.advanced(by: duration)
        hasPassed = { clock.now >= end }
    }
}
