import NIOCore
import NIOHTTP2
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Plays scenarios on a connection of HTTP/2 whose streams have channels of their own, as at the simulated push service and
/// Google. All calls come on the connection's event loop.
///
/// What an answer says is up to the service: ``judged(_:target:)`` gives it to it. All else is done here.
final class ScenarioStage {
    /// What a scenario makes of an answer.
    struct Verdict {
        /// What is answered in place of an acceptance; `nil`: what the service says.
        var answer: ScenarioAnswer?
        var delayMilliseconds = 0
        /// Whether there is no answer: the stream or the connection ends.
        var isWithheld = false
    }

    private let scenarios: ScenarioBook
    private let channel: any Channel
    private let gate: FreezeGate
    private let fullLimit: Int
    private let wallTimeMilliseconds: @Sendable () -> Int64
    private var play: ScenarioPlay?
    private var generation: Int
    /// The limit of streams that was sent last.
    private var limit: Int
    /// The streams that are open, and of those that are held what decides them.
    private var streams: [Int: (() -> Void)?] = [:]
    private var lastStream = 0
    private var isDraining = false

    init(
        _ scenarios: ScenarioBook, on channel: any Channel, gate: FreezeGate, streamLimit: Int,
        wallTimeMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.scenarios = scenarios
        self.channel = channel
        self.gate = gate
        self.wallTimeMilliseconds = wallTimeMilliseconds
        fullLimit = streamLimit
        (play, generation) = scenarios.draw(streamLimit: streamLimit)
        limit = play?.firstStreamLimit ?? streamLimit
    }

    /// What SETTINGS say at the beginning.
    var firstStreamLimit: Int { limit }

    /// HTTP/2 is set up.
    func begin() { perform(act(.opened)) }

    /// The number of a stream's channel; 0: it is none.
    static func number(of channel: any Channel) -> Int {
        do {
            return Int(try channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) ?? .rootStream)
        } catch {
            return 0
        }
    }

    // MARK: Requests

    /// A request arrived whole. `decide` is called when it is to be answered: now, later, or not at all.
    func arrived(on stream: Int, decide: @escaping () -> Void) {
        drawAgainAfterChange()
        streams[stream] = .some(nil)
        lastStream = max(lastStream, stream)
        let actions = act(.arrived(stream: stream))
        var isDecided = true
        for action in actions {
            switch action {
            case .hold: (streams[stream], isDecided) = (decide, false)
            case .resetStream, .freeze, .drop: isDecided = false
            default: break
            }
            perform([action], on: stream)
        }
        if isDecided { decide() }
    }

    /// A request was held against the service's checks and rules: what is to become of its answer.
    ///
    /// - Parameter status: 200 for every acceptance.
    func judged(_ stream: Int, status: Int, target: String) -> Verdict {
        var verdict = Verdict()
        let actions = act(.judged(stream: stream, status: status == 0 ? nil : status, deviceToken: target))
        for action in actions {
            switch action {
            case .answer(let answer): verdict.answer = answer
            case .delay(let milliseconds): verdict.delayMilliseconds += milliseconds
            case .resetStream, .drop, .freeze: verdict.isWithheld = true
            default: break
            }
        }
        perform(actions, on: stream)
        return verdict
    }

    /// A stream is closed.
    func closed(_ stream: Int) {
        streams[stream] = nil
        closeWhenDrained()
    }

    // MARK: Actions

    private func act(_ event: ScenarioEvent) -> [ScenarioAction] {
        play?.handle(event, at: wallTimeMilliseconds()) ?? []
    }

    private func perform(_ actions: [ScenarioAction], on stream: Int? = nil) {
        for action in actions {
            switch action {
            case .answer, .delay, .hold, .bigHeaders, .openWindows: break
            case .release(let last): release(upTo: last)
            case .resetStream(let code):
                guard let stream else { break }
                write(.rstStream(HTTP2ErrorCode(networkCode: code)), on: HTTP2StreamID(stream))
            case .goAway(let last, let code, let debugData): sayGoAway(last, code, debugData)
            case .close:
                isDraining = true
                closeWhenDrained()
            case .drop(let isAbrupt): drop(isAbrupt: isAbrupt)
            case .freeze: freeze()
            case .limitStreams(let limit): allowStreams(limit)
            case .tick(let milliseconds): tick(in: milliseconds)
            }
        }
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID = .rootStream) {
        channel.writeAndFlush(HTTP2Frame(streamID: stream, payload: payload), promise: nil)
    }

    private func allowStreams(_ limit: Int) {
        guard limit != self.limit else { return }
        self.limit = limit
        write(.settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)])))
    }

    private func release(upTo last: Int) {
        for stream in streams.keys.sorted() where stream <= last {
            guard let held = streams[stream] ?? nil else { continue }
            streams[stream] = .some(nil)
            held()
        }
    }

    /// Streams beyond the last one were never looked at.
    private func sayGoAway(_ last: Int?, _ code: Int, _ debugData: String) {
        let last = last ?? lastStream
        streams = streams.filter { $0.key <= last }
        write(
            .goAway(
                lastStreamID: HTTP2StreamID(last), errorCode: HTTP2ErrorCode(networkCode: code),
                opaqueData: ByteBuffer(string: debugData)))
    }

    private func closeWhenDrained() {
        guard isDraining, streams.isEmpty else { return }
        channel.close(promise: nil)
    }

    /// Ends the TCP connection below TLS, so that there is no close_notify.
    private func drop(isAbrupt: Bool) {
        streams = [:]
        gate.isShut = true
        if isAbrupt, let socket = channel as? any SocketOptionProvider {
            // Closing then throws away what was not sent and says RST (socket(7), SO_LINGER).
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        do {
            try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
        } catch {
            channel.close(promise: nil)
        }
    }

    private func freeze() {
        gate.isShut = true
        do {
            try channel.syncOptions?.setOption(.autoRead, value: false)
        } catch {
            // The connection is closed already.
        }
    }

    private func tick(in milliseconds: Int) {
        let generation = generation
        channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(milliseconds))) {
            guard self.channel.isActive, self.generation == generation, !self.gate.isShut else { return }
            self.perform(self.act(.ticked))
        }
    }

    /// Plays what is in force now.
    private func drawAgainAfterChange() {
        guard scenarios.generation != generation else { return }
        (play, generation) = scenarios.draw(streamLimit: fullLimit)
        release(upTo: lastStream)
        allowStreams(play?.firstStreamLimit ?? fullLimit)
        perform(act(.opened))
    }
}
