import Logging
import Metrics
import NIOCore
import PushModel
import ServiceLifecycle
import Synchronization

/// The connections of a listener: so many at most, and an end can be put to them.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any NIOCore.Channel] = [:]
        var book: ConnectionBook<ObjectIdentifier>
        var isClosing = false
        /// When the log last said that connections are turned away, by reason.
        var saidAt: [String: ContinuousClock.Instant] = [:]
    }

    /// Time between two lines in the log that say the same.
    private static let quietTime = Duration.seconds(60)

    /// How many connections there may be.
    let limits: ConnectionLimits
    /// How often connections without a backend's credential are looked at; `nil`: they may be idle like the others.
    private let idleLimit: Duration?
    private let state: Mutex<State>
    private let name: String
    private let gauge: Gauge

    /// No connections yet.
    ///
    /// - Parameters:
    ///   - name: the listener's, a label of the metrics.
    ///   - idleLimit: after how long at least a connection without a backend's credential ends when it has no request.
    init(_ limits: ConnectionLimits = ConnectionLimits(), of name: String = "api", idleLimit: Duration? = nil) {
        self.limits = limits
        self.idleLimit = idleLimit
        self.name = name
        state = Mutex(State(book: ConnectionBook(limits)))
        gauge = Gauge(label: MetricName.httpConnections.rawValue, dimensions: [("listener", name)])
        gauge.record(0)
        Gauge(label: MetricName.httpConnectionLimit.rawValue, dimensions: [("listener", name)]).record(limits.total)
    }

    /// Remembers a connection until it closes. One that has no place, and any after ``closeAll()``, is closed at once.
    func add(_ channel: any NIOCore.Channel, logger: Logger) {
        let id = ObjectIdentifier(channel)
        let address = channel.remoteAddress?.ipAddress.map { ClientAddress($0) }
        let (admission, replaced) = state.withLock {
            state -> (ConnectionBook<ObjectIdentifier>.Admission?, (any NIOCore.Channel)?) in
            guard !state.isClosing else { return (nil, nil) }
            let admission = state.book.admit(id, from: address)
            var replaced: (any NIOCore.Channel)?
            if case .inPlaceOf(let other) = admission { replaced = state.channels.removeValue(forKey: other) }
            if case .refused = admission { return (admission, nil) }
            state.channels[id] = channel
            gauge.record(state.book.count)
            return (admission, replaced)
        }
        switch admission {
        case .admitted?: break
        case .inPlaceOf?:
            turnedAway("idle", logger)
            replaced?.close(promise: nil)
        case .refused(let limit)?:
            turnedAway(limit.rawValue, logger)
            channel.close(promise: nil)
            return
        case nil:
            channel.close(promise: nil)
            return
        }
        let looks = lookForIdleness(of: channel)
        channel.closeFuture.whenComplete { _ in
            looks?.cancel()
            self.state.withLock { state in
                // A channel that made room is out already.
                guard state.channels.removeValue(forKey: id) != nil else { return }
                state.book.remove(id)
                self.gauge.record(state.book.count)
            }
        }
    }

    /// Ends a connection without a backend's credential after a while without a request: at most two times as long.
    private func lookForIdleness(of channel: any NIOCore.Channel) -> RepeatedTask? {
        guard let idleLimit else { return nil }
        let (id, time) = (ObjectIdentifier(channel), TimeAmount(idleLimit))
        return channel.eventLoop.scheduleRepeatedTask(initialDelay: time, delay: time) { [weak channel] task in
            switch self.state.withLock({ $0.book.isIdleSinceLastLook(id) }) {
            case true?: channel?.close(promise: nil)
            case false?: break
            case nil: task.cancel()
            }
        }
    }

    /// Notes that a request began on a connection, or on a stream of it.
    func beginRequest(on channel: any NIOCore.Channel) {
        state.withLock { state in
            // Of a stream of HTTP/2 the connection; of a connection the parent is the listener, which is not in the book.
            if state.book.beginRequest(on: ObjectIdentifier(channel)) { return }
            if let parent = channel.parent { state.book.beginRequest(on: ObjectIdentifier(parent)) }
        }
    }

    /// Notes that the request ended.
    func endRequest(on channel: any NIOCore.Channel) {
        state.withLock { state in
            state.book.endRequest(on: ObjectIdentifier(channel))
            if let parent = channel.parent { state.book.endRequest(on: ObjectIdentifier(parent)) }
        }
    }

    /// Notes that a request of the connection came with a credential that is not in every copy of an app.
    func prove(_ channel: any NIOCore.Channel) {
        state.withLock { state in
            state.book.prove(ObjectIdentifier(channel))
            if let parent = channel.parent { state.book.prove(ObjectIdentifier(parent)) }
        }
    }

    /// Counts a connection that did not get in or had to go, and says so in the log from time to time.
    func turnedAway(_ reason: String, _ logger: Logger) {
        Counter(
            label: MetricName.httpConnectionsRefused.rawValue, dimensions: [("listener", name), ("reason", reason)]
        ).increment()
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            if let last = state.saidAt[reason], now - last < Self.quietTime { return false }
            state.saidAt[reason] = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "connections are turned away",
            metadata: [
                "listener": "\(name)", "reason": "\(reason)", "limit": "\(limits.total)",
                "limit.address": "\(limits.perAddress.map(String.init) ?? "none")",
            ])
    }

    /// Runs a server until its end. After the start of a graceful shutdown its connections have `limit` to end by
    /// themselves, then they are closed.
    func serve(drainingWithin limit: Duration, logger: Logger, _ run: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.endStragglers(after: limit, logger) }
            try await run()
            group.cancelAll()
        }
    }

    private func endStragglers(after limit: Duration, _ logger: Logger) async {
        do {
            try await gracefulShutdown()
            // The time that callers have; this task is cancelled when all are gone before.
            try await Task.sleep(for: limit)
        } catch {
            // Cancelled: the server has ended.
            return
        }
        let count = closeAll()
        logger.warning("Connections closed that did not end in time", metadata: ["connections": "\(count)"])
    }

    /// Closes what is open, and what comes later.
    ///
    /// - Returns: how many connections were open.
    func closeAll() -> Int {
        let open = state.withLock { state in
            state.isClosing = true
            return Array(state.channels.values)
        }
        for channel in open { channel.close(promise: nil) }
        return open.count
    }
}
