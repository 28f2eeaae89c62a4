import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP2
import NIOSSL

/// A connection with TLS: HTTP/2 or HTTP/1.1 by ALPN, known to ``OpenConnections``, watched for stalls, and letting the
/// last answer out before it closes.
///
/// Around Hummingbird's two channels and not its own choice between them, which leaves HTTP/2 with the settings of its
/// library: 100 streams.
struct SecureChannel: HTTPChannelHandler {
    /// What ALPN will have chosen.
    struct Value: ServerChildChannelValue {
        fileprivate let version: EventLoopFuture<NIONegotiatedHTTPVersion<HTTP1Channel.Value, HTTP2Channel.Value>>
        let channel: any Channel
    }

    private let certificate: ListenerCertificate
    private let http1: HTTP1Channel
    private let http2: HTTP2Channel
    private let limits: Limits
    private let connections: OpenConnections

    /// What a connection may take.
    struct Limits: Sendable {
        /// From the connection's start to the first byte behind its TLS handshake, and from there to the end of an HTTP/2
        /// preface.
        var firstByte: Duration
        /// From the first GOAWAY to the connection's end.
        var farewell: Duration
    }

    var responder: HTTPChannelHandler.Responder { http1.responder }

    /// Makes connections; each takes the certificate that is in force when it comes.
    init(
        certificate: ListenerCertificate, http1: HTTP1Channel.Configuration, http2: HTTP2ChannelConfiguration,
        limits: Limits, connections: OpenConnections, responder: @escaping HTTPChannelHandler.Responder
    ) {
        self.certificate = certificate
        self.http1 = HTTP1Channel(responder: responder, configuration: http1)
        self.http2 = HTTP2Channel(responder: responder, configuration: http2)
        self.limits = limits
        self.connections = connections
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel, logger: logger)
        do {
            try channel.pipeline.syncOperations.addHandlers([
                NIOSSLServerHandler(context: certificate.context), FlushBeforeClose(),
                FirstByteDeadline(limits.firstByte), ByteWatch(),
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
            http2.setup(channel: channel, logger: logger).flatMapThrowing { value in
                let pipeline = channel.pipeline.syncOperations
                let handler = try pipeline.handler(type: NIOHTTP2Handler.self)
                try pipeline.addHandlers([WriteCoalescer(), HeaderTableLimit()], position: .before(handler))
                try pipeline.addHandlers(
                    [FarewellDeadline(limits.farewell), PrefaceDeadline(limits.firstByte), MalformedRequests()],
                    position: .after(handler))
                channel.writeAndFlush(Self.settings, promise: nil)
                return value
            }
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

    /// Streams that a connection may have open: Admin SDKs send 500 messages at once on one connection.
    static let streamLimit = 1000

    // HTTP2Channel has no option for the first SETTINGS. This second frame goes out with it, before a client can have
    // opened more streams than the first allows.
    private static var settings: HTTP2Frame {
        HTTP2Frame(
            streamID: .rootStream,
            payload: .settings(
                .settings([
                    HTTP2Setting(parameter: .maxConcurrentStreams, value: streamLimit),
                    HTTP2Setting(parameter: .maxHeaderListSize, value: HeaderSize.decodedBytes),
                ])))
    }
}
