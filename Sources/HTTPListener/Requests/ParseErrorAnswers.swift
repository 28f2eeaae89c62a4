import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Gives the answer to what is not HTTP a body, and its own status to a header that is too large: Hummingbird's own is
/// an empty 400.
final class ParseErrorAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let faultAnswer: FaultAnswer.Make
    private var fault = RequestFault.malformed

    init(_ faultAnswer: @escaping FaultAnswer.Make) {
        self.faultAnswer = faultAnswer
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .headerOverflow? = error as? HTTPParserError { fault = .headerTooLarge }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is HostCheck.Refused { fault = .ambiguousHost }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // No route answers 400 without a body.
        guard case .head(let head) = unwrapOutboundIn(data), head.status == .badRequest,
            head.headerFields[.contentLength] == "0", head.headerFields[.connection] == "close"
        else {
            context.write(data, promise: promise)
            return
        }
        let parts = faultAnswer(fault, "").parts(for: nil, endsConnection: true)
        for part in parts.dropLast(2) { context.write(wrapOutboundOut(part), promise: nil) }
        // The end follows from above.
        context.write(wrapOutboundOut(parts[parts.count - 2]), promise: promise)
    }
}
