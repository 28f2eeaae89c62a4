import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import HTTPListener

/// Streams that end before anything of theirs was answered, and what their connection counts as meanwhile.
struct StreamRequestTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func connected(_ handler: StreamRequest? = nil) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        if let handler { try channel.pipeline.syncOperations.addHandler(handler) }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func head(length: Int) -> HTTPRequestPart {
        .head(
            HTTPRequest(
                method: .post, scheme: "https", authority: "a", path: "/",
                headerFields: [.contentLength: "\(length)"]))
    }

    /// With a body that is handed on before it is there, and with one that is gathered first.
    @Test(arguments: [20_000, 100])
    func aStreamThatIsResetBeforeItIsAnsweredLeavesNothing(length: Int) throws {
        let (_, arrivals) = AsyncStream.makeStream(of: NIOLoopBound<StreamRequest>.self)
        weak var left: StreamRequest?
        do {
            let handler = StreamRequest(arrivals, OpenConnections())
            left = handler
            let channel = try connected(handler)
            try channel.writeInbound(head(length: length))
            try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0x20, count: 100)))
            channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
            _ = try channel.finish(acceptAlreadyClosed: true)
        }
        arrivals.finish()
        #expect(left == nil)
    }

    /// From its head on: the body may be long in coming.
    @Test func aBackendWhoseRequestIsComingMakesNoRoomForOthers() throws {
        let connections = OpenConnections(ConnectionLimits(total: 1))
        let (requests, arrivals) = AsyncStream.makeStream(of: NIOLoopBound<StreamRequest>.self)
        let channel = try connected(StreamRequest(arrivals, connections))
        connections.add(channel, logger: logger)
        connections.prove(channel)
        try channel.writeInbound(head(length: 100))
        let second = try connected()
        connections.add(second, logger: logger)
        #expect(channel.isActive && !second.isActive)
        // Its stream ends: another may have the place.
        channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        let third = try connected()
        connections.add(third, logger: logger)
        #expect(third.isActive)
        _ = requests
    }
}
