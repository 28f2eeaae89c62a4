import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPListener

/// What an HTTP/2 connection writes within one turn of its loop.
@Suite(.timeLimit(.minutes(5)))
struct WriteCoalescerTests {
    private let channel = EmbeddedChannel(handler: WriteCoalescer())

    /// The writes that left.
    private func written() throws -> [String] {
        var texts: [String] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { texts.append(String(buffer: buffer)) }
        return texts
    }

    @Test func writesOfOneTurnLeaveAsOne() throws {
        let first = channel.writeAndFlush(ByteBuffer(string: "a"))
        channel.write(ByteBuffer(string: "b"), promise: nil)
        let last = channel.writeAndFlush(ByteBuffer(string: "c"))
        #expect(try written() == [])
        channel.embeddedEventLoop.run()
        #expect(try written() == ["abc"])
        try first.wait()
        try last.wait()
        channel.writeAndFlush(ByteBuffer(string: "d"), promise: nil)
        channel.embeddedEventLoop.run()
        #expect(try written() == ["d"])
    }

    @Test func whatIsNotFlushedStays() throws {
        channel.write(ByteBuffer(string: "a"), promise: nil)
        channel.embeddedEventLoop.run()
        #expect(try written() == [])
        channel.flush()
        channel.embeddedEventLoop.run()
        #expect(try written() == ["a"])
    }

    @Test func aLargeWriteIsNotCopiedAndKeepsItsPlace() throws {
        let large = String(repeating: "x", count: 10_000)
        for text in ["a", large, "b"] { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
        channel.embeddedEventLoop.run()
        #expect(try written() == ["a", large, "b"])
    }

    @Test func aWriteIsNoLargerThanARecord() throws {
        for _ in 0..<20 { channel.writeAndFlush(ByteBuffer(repeating: 1, count: 1000), promise: nil) }
        channel.embeddedEventLoop.run()
        let sizes = try written().map(\.utf8.count)
        #expect(sizes == [16_000, 4000])
    }

    @Test func whatIsWrittenBeforeAndAfterACloseIsNotLost() throws {
        channel.writeAndFlush(ByteBuffer(string: "before"), promise: nil)
        // Hummingbird writes an answer's last frames in the step in which it closes.
        try channel.pipeline.syncOperations.addHandler(Closing(), position: .first)
        channel.close(promise: nil)
        #expect(try written() == ["before"])
        channel.writeAndFlush(ByteBuffer(string: "after"), promise: nil)
        #expect(try written() == ["after"])
    }

    @Test func aConnectionThatIsGoneFailsWhatWaits() throws {
        let write = channel.write(ByteBuffer(string: "a"))
        _ = try channel.finish(acceptAlreadyClosed: true)
        #expect(throws: ChannelError.self) { try write.wait() }
    }

    /// Puts a close off for good.
    private final class Closing: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {}
    }
}
