import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers `Expect: 100-continue` (RFC 9110 §10.1.1): curl waits a second for it before it sends a large body.
///
/// A request that comes while an earlier one is being answered gets it after that answer: answers keep the order of
/// the requests (RFC 9112 §9.3.2).
final class ContinueHandler: AnswerObserver {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    var unanswered = 0
    /// Whether the last of these waits for the go-ahead.
    private var isExpected = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            isExpected = head.headerFields[.expect]?.lowercased() == "100-continue"
            continueIfNext(context)
        case .body, .end:
            isExpected = false
        }
        context.fireChannelRead(data)
    }

    func answerEnded(context: ChannelHandlerContext) {
        continueIfNext(context)
    }

    private func continueIfNext(_ context: ChannelHandlerContext) {
        guard isExpected, unanswered == 1 else { return }
        isExpected = false
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }
}
