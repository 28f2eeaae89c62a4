import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Reads and drops what is left of a request that was answered before its end, such as a body that is too large.
///
/// Many clients read the answer only when they have sent everything. The handlers behind this one no longer read then,
/// and without reading the connection would stand still. A rest beyond the limit ends the connection;
/// ``StallGuard`` ends one that takes too long.
final class RestDropper: AnswerObserver {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The largest rest that is read.
    static let standardLimitBytes = 16 << 20

    private let limitBytes: Int
    var unanswered = 0
    /// Whether the last request has not ended.
    private var isReading = false
    private var isDropping = false
    private var dropped = 0

    init(limitBytes: Int = RestDropper.standardLimitBytes) {
        self.limitBytes = limitBytes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            isReading = true
        case .body(let bytes):
            if isDropping {
                drop(bytes, context)
                return
            }
        case .end:
            isReading = false
            isDropping = false
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The handlers behind hold their reads back once their buffer is full.
        if isDropping { context.read() }
    }

    func answerEnded(context: ChannelHandlerContext) {
        guard unanswered == 0, isReading else { return }
        isDropping = true
        dropped = 0
        context.flush()
        context.read()
    }

    private func drop(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        dropped += bytes.readableBytes
        guard dropped > limitBytes else { return }
        isDropping = false
        context.close(promise: nil)
    }
}
