import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import HTTPListener

/// The listener's handlers, on a loop whose time the test moves.
struct StallGuardTests {
    private func channel(_ handlers: any ChannelHandler...) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        for handler in handlers { try channel.pipeline.syncOperations.addHandler(handler) }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private var stallGuard: StallGuard { stallGuard(isOfStream: false) }

    private func stallGuard(isOfStream: Bool) -> StallGuard {
        let limits = StallLimits(request: .seconds(30), answer: .seconds(120))
        return StallGuard(
            limits: limits,
            faultAnswer: { fault, _ in
                let status: HTTPResponse.Status =
                    switch fault {
                    case .incomplete: .requestTimeout
                    case .stopping: .serviceUnavailable
                    case .malformed, .headerTooLarge, .ambiguousHost: .badRequest
                    }
                return FaultAnswer(status: status, contentType: "text/plain", body: ByteBuffer(string: "late"))
            }, isOfStream: isOfStream)
    }

    private func head(_ fields: HTTPFields = [:]) -> HTTPRequestPart {
        .head(HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/v1/x", headerFields: fields))
    }

    private func statuses(_ channel: EmbeddedChannel) throws -> [Int] {
        var found: [Int] = []
        while let part = try channel.readOutbound(as: HTTPResponsePart.self) {
            if case .head(let head) = part { found.append(head.status.code) }
        }
        return found
    }

    @Test(arguments: [true, false])
    func aRequestWithoutEndIsAnswered408(isOfStream: Bool) throws {
        let channel = try channel(stallGuard(isOfStream: isOfStream))
        try channel.writeInbound(head())
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try statuses(channel) == [408])
        #expect(!channel.isActive)
    }

    @Test func headersThatTrickleInCountToo() throws {
        let channel = try channel(stallGuard)
        for _ in 0..<4 {
            channel.pipeline.fireUserInboundEventTriggered(ByteWatch.BytesArrived())
            channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        }
        #expect(try statuses(channel) == [408])
        #expect(!channel.isActive)
    }

    @Test(arguments: [true, false])
    func aStoppingGatewayWaitsTwoSecondsForTheRestOfARequest(comes: Bool) throws {
        let channel = try channel(stallGuard(isOfStream: comes))
        try channel.writeInbound(head())
        channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1900))
        #expect(channel.isActive)
        if comes { try channel.writeInbound(HTTPRequestPart.end(nil)) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try statuses(channel) == (comes ? [] : [503]))
        #expect(channel.isActive == comes)
    }

    /// Most requests of a stream are there as a whole when their head is read.
    @Test func aRequestThatCameAtOnceHasNoDeadline() throws {
        let channel = try channel(stallGuard(isOfStream: true))
        channel.pipeline.fireChannelRead(head())
        channel.pipeline.fireChannelRead(HTTPRequestPart.end(nil))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.advanceTime(by: .seconds(300))
        #expect(channel.isActive)
        #expect(try statuses(channel) == [])
    }

    @Test func aCompleteRequestMayBeAnsweredLate() throws {
        let channel = try channel(stallGuard)
        try channel.writeInbound(head())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.pipeline.fireUserInboundEventTriggered(ByteWatch.BytesArrived())
        channel.embeddedEventLoop.advanceTime(by: .seconds(300))
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(try statuses(channel) == [200])
    }

    @Test func aRequestAnsweredBeforeItsEndGetsNoSecondAnswer() throws {
        let channel = try channel(stallGuard)
        try channel.writeInbound(head())
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .unauthorized)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        #expect(try statuses(channel) == [401])
        #expect(!channel.isActive)
    }

    @Test(arguments: [true, false])
    func aPeerThatDoesNotReadLosesItsConnection(readsInTime: Bool) throws {
        let channel = try channel(stallGuard)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .seconds(119))
        #expect(channel.isActive)
        if readsInTime {
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(channel.isActive == readsInTime)
    }

    /// What is below keeps what is written to itself, as a stream does whose window is shut.
    private final class ShutWindow: ChannelOutboundHandler {
        typealias OutboundIn = HTTPResponsePart

        private var held: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { held.append(promise) }
        }

        func open() {
            for promise in held { promise.succeed() }
            held = []
        }
    }

    @Test(arguments: [true, false])
    func aSmallAnswerThatTheWindowHoldsBackEndsInTime(readsInTime: Bool) throws {
        let window = ShutWindow()
        let channel = try channel(window, stallGuard)
        try channel.writeInbound(head())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(119))
        #expect(channel.isActive)
        if readsInTime { window.open() }
        channel.embeddedEventLoop.advanceTime(by: .seconds(300))
        #expect(channel.isActive == readsInTime)
        window.open()
    }

    @Test func theGoAheadWaitsForTheAnswerBefore() throws {
        let channel = try channel(ContinueHandler())
        try channel.writeInbound(head([.expect: "100-continue"]))
        #expect(try statuses(channel) == [100])
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeInbound(head([.expect: "100-continue"]))
        #expect(try statuses(channel) == [])
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(try statuses(channel) == [200, 100])
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(try statuses(channel) == [200])
    }

    @Test func abandonedGoAheadsAreNotSent() throws {
        let channel = try channel(ContinueHandler())
        try channel.writeInbound(head())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeInbound(head([.expect: "100-continue"]))
        // The client did not wait for it.
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(try statuses(channel) == [200])
    }

    @Test(arguments: [(10, true), (11, false)])
    func theRestOfAnAnsweredRequestIsDroppedUpToALimit(size: Int, isActive: Bool) throws {
        let channel = try channel(RestDropper(limitBytes: 10))
        try channel.writeInbound(head())
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "before")))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .contentTooLarge)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: 6)))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: size - 6)))
        #expect(channel.isActive == isActive)
        guard isActive else { return }
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeInbound(head())
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "next")))
        var parts: [HTTPRequestPart] = []
        while let part = try channel.readInbound(as: HTTPRequestPart.self) { parts.append(part) }
        #expect(
            parts == [
                head(), .body(ByteBuffer(string: "before")), .end(nil), head(), .body(ByteBuffer(string: "next")),
            ])
    }
}
