import Logging
import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS

/// Sets accepted sockets up: TLS, then HTTP/2 if the client chose it.
struct Acceptor: Sendable {
    let tls: NIOSSLContext
    let judge: PushJudge
    let limits: StreamLimits
    let scenarios: ScenarioBook
    let open: OpenConnections
    let logger: Logger

    func set(up channel: any Channel) -> EventLoopFuture<Void> {
        open.add(channel)
        return channel.eventLoop.makeCompletedFuture {
            let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
                guard result == .negotiated("h2") else {
                    logger.debug("A client without HTTP/2 was dropped")
                    return channel.close()
                }
                return channel.eventLoop.makeCompletedFuture { try addHTTP2(to: channel) }
            }
            try channel.pipeline.syncOperations.addHandlers(
                NIOSSLServerHandler(context: tls), negotiation, HandshakeErrorHandler(logger: logger))
        }
    }

    private func addHTTP2(to channel: any Channel) throws {
        let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
        let credentials = ConnectionCredentials(
            certificate: try certificate.map { PushCertificate(derBytes: try $0.toDERBytes()) })
        var limits = limits
        // Only a token has to prove itself first (Apple, "Sending notification requests to APNs").
        if certificate != nil { limits.beginsWithOne = false }
        let (play, generation) = scenarios.draw(streamLimit: limits.limit)
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: play?.firstStreamLimit ?? limits.initial),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8000),
        ]
        if let bytes = play?.windowBytes {
            connection.initialSettings.append(HTTP2Setting(parameter: .initialWindowSize, value: bytes))
        }
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // A sender under test may well cancel a thousand requests that a rule leaves unanswered.
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        connection.controlFrameRateLimit.maximumCount = 10_000
        // A scenario resets streams whose bodies are still on their way.
        connection.maximumRecentlyResetStreams = 4096
        let watch = GoAwayWatch()
        let gate = FreezeGate()
        try channel.pipeline.syncOperations.addHandlers(
            gate,
            NIOHTTP2Handler(
                mode: .server, frameDelegate: watch, connectionConfiguration: connection,
                streamConfiguration: stream),
            ConnectionHandler(
                number: judge.tally.connectionOpened(), judge: judge, credentials: credentials, limits: limits,
                scenarios: scenarios, play: play, generation: generation, goAwayWatch: watch, gate: gate,
                logger: logger))
    }
}

/// Ends connections that fail before HTTP/2 begins, for example because the client does not trust the CA.
private final class HandshakeErrorHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("Connection error", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }
}
