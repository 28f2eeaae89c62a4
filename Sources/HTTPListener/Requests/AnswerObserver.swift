import NIOCore
import NIOHTTPTypes

/// A handler that acts when an answer has ended.
protocol AnswerObserver: ChannelDuplexHandler, RemovableChannelHandler
where
    InboundIn == HTTPRequestPart, InboundOut == HTTPRequestPart, OutboundIn == HTTPResponsePart,
    OutboundOut == HTTPResponsePart
{
    /// Requests whose answers have not ended. The observer adds one for each head that it reads.
    var unanswered: Int { get set }

    /// An answer has ended, and is written.
    func answerEnded(context: ChannelHandlerContext)
}

extension AnswerObserver {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        unanswered = max(0, unanswered - 1)
        context.write(data, promise: promise)
        answerEnded(context: context)
    }
}
