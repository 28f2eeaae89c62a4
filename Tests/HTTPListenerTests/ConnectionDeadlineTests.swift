import NIOCore
import NIOEmbedded
import NIOHTTP2
import NIOTLS
import Testing

@testable import HTTPListener

/// The listener's deadlines, on a loop whose time the test moves.
struct ConnectionDeadlineTests {
    private func channel(_ handler: any ChannelHandler) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private let goAway = HTTP2Frame(
        streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))

    @Test(arguments: [true, false])
    func aConnectionFromWhichNothingComesEnds(speaks: Bool) throws {
        let channel = try channel(FirstByteDeadline(.seconds(30)))
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        // A handshake alone is no byte.
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
        if speaks { try channel.writeInbound(ByteBuffer(string: "G")) }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(channel.isActive == speaks)
    }

    @Test(arguments: [true, false])
    func aStoppingGatewayDoesNotWaitForTheFirstByte(speaks: Bool) throws {
        let channel = try channel(FirstByteDeadline(.seconds(30)))
        if speaks { try channel.writeInbound(ByteBuffer(string: "G")) }
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(channel.isActive == speaks)
    }

    /// The bytes of a preface, up to `count`, with the handler that reads them.
    @Test(arguments: [1, 8, 23, 24, 30, nil])
    func aPartOfAnHTTP2PrefaceKeepsNoConnection(count: Int?) throws {
        let channel = try channel(NIOHTTP2Handler(mode: .server, initialSettings: []))
        try channel.pipeline.syncOperations.addHandler(PrefaceDeadline(.seconds(30)))
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        try channel.writeInbound(ByteBuffer(bytes: preface.prefix(count ?? preface.count)))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(channel.isActive == (count == nil))
    }

    @Test func aPeerThatAnswersNoPingLosesItsConnectionAfterGoAway() throws {
        let channel = try channel(FarewellDeadline(.seconds(20)))
        try channel.writeOutbound(HTTP2Frame(streamID: .rootStream, payload: .settings(.settings([]))))
        channel.embeddedEventLoop.advanceTime(by: .seconds(600))
        #expect(channel.isActive)
        try channel.writeOutbound(goAway)
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        // A second one does not put the end off.
        try channel.writeOutbound(goAway)
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }
}
