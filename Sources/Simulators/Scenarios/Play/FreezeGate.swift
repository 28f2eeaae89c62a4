import NIOCore

/// Stands between TLS and HTTP/2 and lets nothing through once it is shut, not even what HTTP/2 does by itself. Used
/// on one event loop only.
final class FreezeGate: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    var isShut = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isShut else { return }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isShut else {
            promise?.succeed()
            return
        }
        context.write(data, promise: promise)
    }
}
