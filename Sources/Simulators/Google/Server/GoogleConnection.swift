import NIOCore
import NIOHTTP2
import Synchronization

/// One connection of a simulated Google: counts what is answered on it, and says GOAWAY when its number is reached.
final class GoogleConnection: Sendable {
    let number: Int
    private let channel: any Channel
    /// After how many requests it says GOAWAY; `nil`: never.
    private let goAwayAfter: Int?
    private let answered = Mutex(0)

    init(number: Int, channel: any Channel, goAwayAfter: Int?) {
        self.number = number
        self.channel = channel
        self.goAwayAfter = goAwayAfter
    }

    /// Counts an answer that is about to be given.
    func requestAnswered() {
        guard let goAwayAfter else { return }
        let count = answered.withLock { count in
            count += 1
            return count
        }
        if count == goAwayAfter { sayGoAway() }
    }

    /// GOAWAY as a server says it that goes on with what it has: all streams so far are answered, new ones are not.
    private func sayGoAway() {
        let goAway = HTTP2Frame.FramePayload.goAway(
            lastStreamID: .maxID, errorCode: .noError, opaqueData: ByteBuffer(string: "session_timed_out"))
        channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: goAway), promise: nil)
    }
}
