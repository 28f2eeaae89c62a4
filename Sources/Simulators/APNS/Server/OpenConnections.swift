import NIOCore
import Synchronization

/// The connections that are open, to end them at shutdown.
final class OpenConnections: Sendable {
    private struct OpenChannels {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isDraining = false
    }

    private let state = Mutex(OpenChannels())

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            if !state.isDraining { state.channels[id] = channel }
            return state.isDraining
        }
        guard !isLate else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { [weak self] _ in
            _ = self?.state.withLock { $0.channels.removeValue(forKey: id) }
        }
    }

    /// Lets HTTP/2 connections finish, closes all others, and after `grace` whatever is left.
    func drain(grace: Duration) async {
        let channels = state.withLock { state in
            state.isDraining = true
            return Array(state.channels.values)
        }
        let milliseconds = grace.components.seconds * 1000 + grace.components.attoseconds / 1_000_000_000_000_000
        for channel in channels {
            let deadline = channel.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
                channel.close(promise: nil)
            }
            channel.closeFuture.whenComplete { _ in deadline.cancel() }
            channel.eventLoop.execute {
                do {
                    try channel.pipeline.syncOperations.handler(type: ConnectionHandler.self).drain()
                } catch {
                    // Not (yet) an HTTP/2 connection: nothing was begun on it.
                    channel.close(promise: nil)
                }
            }
        }
        for channel in channels {
            do {
                try await channel.closeFuture.get()
            } catch {
                // It is closed, which is what was waited for.
            }
        }
    }
}
