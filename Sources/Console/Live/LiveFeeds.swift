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
    /// How often a silent feed says that it is there: proxies end what is silent.
    static let ping: Duration = .seconds(15)
    /// How long a feed lasts; the browser begins another, with the session checked anew.
    static let longest: Duration = .seconds(600)
    /// How many feeds there may be at a time; more are told to come later.
    static let limit = 200

    private let clock: any Clock<Duration>
    private let count = FeedCount()

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    /// Answers with a feed.
    ///
    /// - Parameter render: makes the part; `nil`: the session has ended.
    func response(
        _ call: ConsoleCall, render: @escaping @Sendable () async throws -> String?
    ) -> Response {
        guard count.enter() else {
            return .console(
                "Too many pages follow what happens.\n", "text/plain", status: .serviceUnavailable,
                and: [.retryAfter: "5"])
        }
        var headers = HTTPFields.ofConsole
        headers[.contentType] = "text/event-stream"
        let feed = Feed(
            clock: clock, store: call.store, render: render)
        let place = FeedPlace(count)
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                defer { place.leave() }
                try await feed.run(&writer)
                try await writer.finish(nil)
            })
    }
}

/// How many feeds there are.
private final class FeedCount: Sendable {
    private let count = Mutex(0)

    func enter() -> Bool {
        count.withLock { count in
            guard count < LiveFeeds.limit else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}

/// A feed's place among all, given back once: also when its answer is never written.
private final class FeedPlace: Sendable {
    private let count: FeedCount
    private let isHeld = Mutex(true)

    init(_ count: FeedCount) {
        self.count = count
    }

    deinit { leave() }

    func leave() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { count.leave() }
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
            guard let part = try await render() else {
                try await writer.write(ByteBuffer(string: "event: over\ndata: \n\n"))
                return
            }
            if part != shown { try await send(part, &writer) }
            shown = part
            // Several commits of a broadcast make one update.
            try await clock.sleep(for: LiveFeeds.rest)
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
                    try? await clock.sleep(for: LiveFeeds.ping)
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
