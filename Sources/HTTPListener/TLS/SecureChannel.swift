import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOSSL

/// A connection with TLS: HTTP/2 or HTTP/1.1 by ALPN, known to ``OpenConnections``, watched for stalls, and letting the
/// last answer out before it closes.
///
/// HTTP/1.1 is Hummingbird's, HTTP/2 a ``StreamChannel``.
struct SecureChannel: HTTPChannelHandler {
    /// What ALPN will have chosen.
    struct Value: ServerChildChannelValue {
        fileprivate let version: EventLoopFuture<NIONegotiatedHTTPVersion<HTTP1Channel.Value, StreamChannel.Value>>
        let channel: any Channel
    }

    private let certificate: ListenerCertificate
    private let http1: HTTP1Channel
    private let http2: StreamChannel
    private let firstByteLimit: Duration
    private let connections: OpenConnections

    var responder: HTTPChannelHandler.Responder { http1.responder }

    /// Makes connections; each takes the certificate that is in force when it comes.
    ///
    /// - Parameter firstByteLimit: from the connection's start to the first byte behind its TLS handshake.
    init(
        certificate: ListenerCertificate, http1: HTTP1Channel, http2: StreamChannel, firstByteLimit: Duration,
        connections: OpenConnections
    ) {
        self.certificate = certificate
        self.http1 = http1
        self.http2 = http2
        self.firstByteLimit = firstByteLimit
        self.connections = connections
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel, logger: logger)
        do {
            try channel.pipeline.syncOperations.addHandlers([
                NIOSSLServerHandler(context: certificate.context), FlushBeforeClose(),
                FirstByteDeadline(firstByteLimit), ByteWatch(),
            ])
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return channel.configureHTTP2AsyncSecureUpgrade { channel in
            http1.setup(channel: channel, logger: logger).flatMapThrowing { value in
                try channel.pipeline.syncOperations.checkHosts()
                return value
            }
        } http2ConnectionInitializer: { channel in
            http2.setup(channel: channel, logger: logger)
        }.map { Value(version: $0, channel: channel) }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await handleOnLoop(value, logger)
        }
    }

    private func handleOnLoop(_ value: Value, _ logger: Logger) async {
        do {
            switch try await value.version.get() {
            case .http1_1(let http1): await self.http1.handle(value: http1, logger: logger)
            case .http2(let http2): await self.http2.handle(value: http2, logger: logger)
            }
        } catch {
            logger.debug("Connection ended before its protocol was agreed on", metadata: ["error": "\(error)"])
        }
    }
}
