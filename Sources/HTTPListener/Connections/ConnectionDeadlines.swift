import NIOCore
import NIOHTTP2
import PushModel

/// Ends a connection from which nothing comes: the first byte must arrive in time, with TLS the first one behind the
/// handshake. Nothing behind it would see that a peer is there.
///
/// Stands behind the TLS handler, and takes itself out once the byte is there. A graceful shutdown does not wait for it.
final class FirstByteDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: Duration
    private var deadline: Scheduled<Void>?

    init(_ limit: Duration) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        deadline = context.closing(in: limit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        deadline?.cancel()
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }
}

/// Ends an HTTP/2 connection whose preface does not come to its end: 24 bytes and a SETTINGS frame (RFC 9113 §3.4). Until
/// then there is no frame whose absence anything else would see, and a part of it would keep the connection.
///
/// Stands behind the HTTP/2 handler from the choice of the protocol on, and takes itself out with the first frame.
final class PrefaceDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    private let limit: Duration
    private var deadline: Scheduled<Void>?

    init(_ limit: Duration) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        deadline = context.closing(in: limit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        deadline?.cancel()
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }
}

/// Ends an HTTP/2 connection some time after its first GOAWAY.
///
/// Hummingbird waits for the peer's answer to a PING before it counts the time, so one that is gone would keep its
/// connection for ever.
final class FarewellDeadline: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let limit: Duration
    private var deadline: Scheduled<Void>?

    init(_ limit: Duration) {
        self.limit = limit
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .goAway = unwrapOutboundIn(data).payload, deadline == nil { deadline = context.closing(in: limit) }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }
}

extension ChannelHandlerContext {
    /// Closes the channel after a time, unless it is cancelled before.
    fileprivate func closing(in limit: Duration) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { self.close(promise: nil) }
    }
}
