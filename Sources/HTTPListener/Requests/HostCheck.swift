import NIOCore
import NIOHTTP1

/// Refuses an HTTP/1.1 request that has no `Host` field, any request that has more than one, and one whose host is none:
/// what stands in front might have taken another one for the request's (RFC 9112 §3.2). HTTP/1.0 knows no such field.
/// A target in absolute-form becomes one in origin-form, its authority the `Host`.
///
/// Stands right behind the decoder, where the version is still known. The refusal takes the way of what is no HTTP:
/// it is answered 400 after the requests before it, and the connection ends. ``HostLimit`` does the same over HTTP/2.
final class HostCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Tells ``ParseErrorAnswers`` what is wrong: the decoder's errors have no such case.
    struct Refused: Sendable {}

    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        guard case .head(var head) = unwrapInboundIn(data) else {
            context.fireChannelRead(data)
            return
        }
        Self.trimHost(&head)
        guard Self.isSound(head), Self.takeHost(ofTargetIn: &head) else {
            isBroken = true
            context.fireUserInboundEventTriggered(Refused())
            // Any error of the decoder has the request answered 400.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        Self.close(&head)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Writes `Connection: close` as Hummingbird looks for it where the request's version and field say so in any way: in
    /// capitals, in a list, or as HTTP/1.0 without `keep-alive` (RFC 9112 section 9.3).
    private static func close(_ head: inout HTTPRequestHead) {
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    }

    /// Takes blanks from the end of the host: the decoder leaves them, but they are not of the value (RFC 9112 §5).
    private static func trimHost(_ head: inout HTTPRequestHead) {
        let hosts = head.headers["Host"]
        guard hosts.count == 1, hosts[0].hasSuffix(" ") || hosts[0].hasSuffix("\t") else { return }
        var host = hosts[0][...]
        while let last = host.last, last == " " || last == "\t" { host.removeLast() }
        head.headers.replaceOrAdd(name: "Host", value: String(host))
    }

    private static func isSound(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["Host"]
        guard let host = hosts.first else { return head.version == .http1_0 }
        return hosts.count == 1 && RequestAuthority.isSound(host)
    }

    /// Puts a target in absolute-form into origin-form; `false`: it is none that is served here.
    private static func takeHost(ofTargetIn head: inout HTTPRequestHead) -> Bool {
        // Origin-form, asterisk-form, and authority-form, which belongs to CONNECT alone.
        guard let first = head.uri.utf8.first, first != UInt8(ascii: "/"), head.uri != "*", head.method != .CONNECT
        else {
            return true
        }
        guard let target = AbsoluteTarget(head.uri) else { return false }
        head.uri = target.path
        head.headers.replaceOrAdd(name: "Host", value: String(target.authority))
        return true
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Puts a ``HostCheck`` behind the decoder of an HTTP/1 connection.
    func checkHosts() throws {
        let decoder = try handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try addHandler(HostCheck(), position: .after(decoder))
    }
}
