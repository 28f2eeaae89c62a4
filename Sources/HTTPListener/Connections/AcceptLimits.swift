import Foundation
import HummingbirdCore
import Logging
import NIOCore

/// Leaves new connections in the kernel's queue while far more are open than may be: those that were told to close have
/// not done so yet, and each of them still has its descriptor.
struct AcceptCeiling: AvailableConnectionsDelegate {
    /// Connections beyond the limit that may be open while others close.
    static let slack = 32

    private let limit: Int
    private var open = 0

    /// - Parameter total: how many connections there may be.
    init(total: Int) {
        limit = total + Self.slack
    }

    mutating func connectionOpened() { open += 1 }

    mutating func connectionClosed() { open -= 1 }

    func isAcceptingNewConnections() -> Bool { open < limit }
}

/// Counts and logs what keeps the listener's socket from accepting, such as descriptors that have run out (`EMFILE`). The
/// handler behind it, SwiftNIO's own, then waits a second before it tries again, and says nothing.
final class AcceptErrors: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    private let connections: OpenConnections
    private let logger: Logger

    init(connections: OpenConnections, logger: Logger) {
        self.connections = connections
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            connections.turnedAway([EMFILE, ENFILE].contains(error.errnoCode) ? "descriptors" : "memory", logger)
        }
        context.fireErrorCaught(error)
    }
}

extension OpenConnections {
    /// A responder that notes which connections have a request under way.
    func noting(_ responder: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            self.beginRequest(on: channel)
            defer { self.endRequest(on: channel) }
            try await responder(request, writer, channel)
        }
    }

    /// Watches the listener's socket for what keeps it from accepting.
    func watch(_ listener: any Channel, logger: Logger) {
        let handler = AcceptErrors(connections: self, logger: logger)
        listener.pipeline.addHandler(handler, position: .first).whenFailure { error in
            logger.debug("the listener closed before it was watched", metadata: ["error": "\(error)"])
        }
    }
}
