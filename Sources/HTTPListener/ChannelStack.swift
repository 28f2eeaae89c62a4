import Hummingbird
import HummingbirdCore
import NIOCore

/// Which handlers each connection of a listener gets, and with which limits.
struct ChannelStack: Sendable {
    // Idle connections stay for long: backends keep theirs open between bursts.
    private static let idleTimeout = Duration.seconds(600)

    private let configuration: ListenerConfiguration
    private let certificate: ListenerCertificate?
    private let connections: OpenConnections
    private let streamResponder: RequestResponder
    private let faultAnswer: FaultAnswer.Make

    /// The handlers of a listener.
    ///
    /// - Parameter streamResponder: answers the requests of HTTP/2; those of HTTP/1.1 have that of Hummingbird's server.
    init(
        _ configuration: ListenerConfiguration, _ certificate: ListenerCertificate?, _ connections: OpenConnections,
        streamResponder: @escaping RequestResponder, _ faultAnswer: @escaping FaultAnswer.Make
    ) {
        self.streamResponder = streamResponder
        self.configuration = configuration
        self.certificate = certificate
        self.connections = connections
        self.faultAnswer = faultAnswer
    }

    private var stallLimits: StallLimits {
        StallLimits(request: configuration.requestLimit, answer: configuration.answerLimit)
    }

    /// What Hummingbird's server makes connections with.
    var server: HTTPServerBuilder {
        let http1 = http1
        guard let certificate else {
            return HTTPServerBuilder { [connections, configuration] responder in
                PlainChannel(
                    HTTP1Channel(responder: connections.noting(responder), configuration: http1),
                    connections: connections, firstByteLimit: configuration.firstByteLimit)
            }
        }
        return HTTPServerBuilder { [self] responder in
            SecureChannel(
                certificate: certificate,
                http1: HTTP1Channel(responder: connections.noting(responder), configuration: http1), http2: http2,
                firstByteLimit: configuration.firstByteLimit, connections: connections)
        }
    }

    private var http1: HTTP1Channel.Configuration {
        channel { [stallLimits, faultAnswer] in
            [
                ParseErrorAnswers(faultAnswer), StallGuard(limits: stallLimits, faultAnswer: faultAnswer),
                RestDropper(), ContinueHandler(),
            ]
        }
    }

    private var http2: StreamChannel {
        StreamChannel(
            StreamChannel.Limits(
                idle: Self.idleTimeout, preface: configuration.firstByteLimit, farewell: configuration.shutdownLimit),
            connections: connections,
            streamHandlers: { [stallLimits, faultAnswer] in
                [
                    StallGuard(limits: stallLimits, faultAnswer: faultAnswer, isOfStream: true), RestDropper(),
                    ContinueHandler(),
                ]
            }, responder: streamResponder)
    }

    private func channel(
        _ handlers: @escaping @Sendable () -> [any RemovableChannelHandler]
    ) -> HTTP1Channel.Configuration {
        var configuration = HTTP1Channel.Configuration(
            idleTimeout: TimeAmount(Self.idleTimeout),
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: HeaderSize.decodedBytes, maxHeaderListSize: HeaderSize.decodedBytes,
                maxHeaderFieldCount: HeaderSize.fieldCount))
        configuration.additionalChannelHandlers = handlers
        return configuration
    }
}
