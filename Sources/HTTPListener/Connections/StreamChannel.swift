import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypesHTTP2

/// An HTTP/2 connection whose requests are answered on its event loop, each by a task of its own (``StreamRequest``).
///
/// In place of Hummingbird's `HTTP2Channel`, which makes two asynchronous sequences of each stream, one to read and one to
/// write: most requests here are one short body and one short answer, and cost more in these sequences than in all that is
/// done for them.
struct StreamChannel: ServerChildChannel {
    /// A connection, and its requests as they come.
    struct Value: ServerChildChannelValue {
        fileprivate let requests: AsyncStream<NIOLoopBound<StreamRequest>>
        let channel: any Channel
    }

    /// What a connection may take.
    struct Limits: Sendable {
        /// Without a stream, until the connection is told to go.
        var idle: Duration
        /// To the end of its preface.
        var preface: Duration
        /// From its first GOAWAY to its end.
        var farewell: Duration
    }

    /// Streams that a connection may have open: Admin SDKs send 500 messages at once on one connection.
    static let streamLimit = 1000

    private let limits: Limits
    private let connections: OpenConnections
    private let responder: RequestResponder
    private let streamHandlers: @Sendable () -> [any RemovableChannelHandler]

    /// Makes connections.
    ///
    /// - Parameters:
    ///   - connections: where connections with requests are noted.
    ///   - streamHandlers: what stands between a stream's HTTP and its request.
    ///   - responder: answers requests.
    init(
        _ limits: Limits, connections: OpenConnections,
        streamHandlers: @escaping @Sendable () -> [any RemovableChannelHandler],
        responder: @escaping RequestResponder
    ) {
        self.limits = limits
        self.connections = connections
        self.streamHandlers = streamHandlers
        self.responder = responder
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let (requests, arrivals) = AsyncStream.makeStream(of: NIOLoopBound<StreamRequest>.self)
            channel.closeFuture.whenComplete { _ in arrivals.finish() }
            try addHandlers(to: channel, arrivals)
            return Value(requests: requests, channel: channel)
        }
    }

    private func addHandlers(
        to channel: any Channel, _ arrivals: AsyncStream<NIOLoopBound<StreamRequest>>.Continuation
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let manager = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: TimeAmount(limits.idle), maxAge: nil, maxGraceTime: TimeAmount(limits.farewell),
                keepalive: nil))
        try pipeline.addHandlers([WriteCoalescer(), HeaderTableLimit()])
        let streams = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: Self.configuration,
            streamConfiguration: NIOHTTP2Handler.StreamConfiguration(), streamDelegate: manager.http2StreamDelegate
        ) { [streamHandlers, connections] stream in
            stream.eventLoop.makeCompletedFuture {
                let pipeline = stream.pipeline.syncOperations
                try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
                try pipeline.addHandlers(streamHandlers())
                try pipeline.addHandler(StreamRequest(arrivals, connections))
            }
        }
        _ = streams
        try pipeline.addHandlers([
            FarewellDeadline(limits.farewell), PrefaceDeadline(limits.preface), MalformedRequests(), manager,
        ])
        // Its time without streams begins with this event, which was there before the protocol was agreed on.
        manager.channelActive(context: try pipeline.context(handler: manager))
    }

    private static var configuration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streamLimit),
            HTTP2Setting(parameter: .maxHeaderListSize, value: HeaderSize.decodedBytes),
        ]
        return configuration
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await request in value.requests {
                    group.addTask { await request.value.answer(by: responder) }
                }
            }
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}
