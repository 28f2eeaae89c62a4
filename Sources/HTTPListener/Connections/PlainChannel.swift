import HummingbirdCore
import Logging
import NIOCore

/// A connection without TLS: HTTP/1.1, known to ``OpenConnections``, watched for stalls.
struct PlainChannel: HTTPChannelHandler {
    private let http1: HTTP1Channel
    private let connections: OpenConnections
    private let firstByteLimit: Duration

    var responder: HTTPChannelHandler.Responder { http1.responder }

    /// - Parameter firstByteLimit: from the connection's start to its first byte.
    init(_ http1: HTTP1Channel, connections: OpenConnections, firstByteLimit: Duration) {
        self.http1 = http1
        self.firstByteLimit = firstByteLimit
        self.connections = connections
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        connections.add(channel, logger: logger)
        return http1.setup(channel: channel, logger: logger).flatMapThrowing { value in
            try channel.pipeline.syncOperations.checkHosts()
            try channel.pipeline.syncOperations.addHandlers(
                [FirstByteDeadline(firstByteLimit), ByteWatch()], position: .first)
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await http1.handle(value: value, logger: logger)
        }
    }
}
