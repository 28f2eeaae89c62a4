import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The connections of the listener, so that an end can be put to them.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosing = false
    }

    private let state = Mutex(State())

    /// Remembers a connection until it closes; after ``closeAll()`` it is closed at once.
    func add(_ channel: any Channel) {
        let isClosing = state.withLock { state in
            if !state.isClosing { state.channels[ObjectIdentifier(channel)] = channel }
            return state.isClosing
        }
        guard !isClosing else {
            channel.close(promise: nil)
            return
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
        }
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
