import Foundation
import TestSupport

/// An HTTP/2 server whose every frame the test writes: `openssl s_server` does TLS and ALPN, the test the rest.
///
/// One connection at a time, as s_server does it.
final class ScriptedPeer: Sendable {
    let port: Int
    let tls: TLSMaterial
    private let process: ChildProcess
    private let frames: AsyncStream<Frame>

    /// - Parameters:
    ///   - alpn: protocols to choose from; `nil`: no ALPN.
    ///   - tls: its key and certificate; `nil`: new ones.
    ///   - extra: more options of `s_server`.
    ///   - answersPings: whether PINGs are answered as they come, and not left to the test.
    init(
        alpn: String? = "h2", tls material: TLSMaterial? = nil, extra: [String] = [], answersPings: Bool = false
    ) async throws {
        tls = try material ?? TLSMaterial()
        let tls = tls
        (port, process) = try await onFreePort { port in
            let process = try ChildProcess(
                Tool.openssl,
                ["s_server", "-accept", "127.0.0.1:\(port)", "-key", tls.key, "-cert", tls.certificate, "-quiet"]
                    + (alpn.map { ["-alpn", $0] } ?? []) + extra, linked: true)
            return try await isListening(process, port: port) ? (port, process) : nil
        }
        let (frames, continuation) = AsyncStream.makeStream(of: Frame.self)
        self.frames = frames
        let reader = Thread { [process] in
            var parser = FrameParser()
            while true {
                let bytes = process.read()
                guard !bytes.isEmpty else { break }
                parser.append(bytes)
                while let frame = parser.next() {
                    guard answersPings, frame.type == Frame.ping, !frame.hasFirstFlag else {
                        continuation.yield(frame)
                        continue
                    }
                    do {
                        try process.write(Frame.pong(frame).bytes)
                    } catch {
                        // The program has ended; the next read says so.
                    }
                }
            }
            continuation.finish()
        }
        reader.start()
    }

    func send(_ frames: Frame...) throws {
        try process.write(frames.flatMap(\.bytes))
    }

    /// The next frame of `type` from the client; others are passed over.
    func next(_ type: UInt8) async throws -> Frame {
        for await frame in frames where frame.type == type && !(type == Frame.settings && frame.hasFirstFlag) {
            return frame
        }
        throw ToolFailure(what: "the peer ended before frame \(type)")
    }

    /// The next frame, whatever it is.
    func next() async throws -> Frame {
        for await frame in frames { return frame }
        throw ToolFailure(what: "the peer ended")
    }

    /// The next frame of `type`; every PING before it is answered.
    func nextAnsweringPings(_ type: UInt8) async throws -> Frame {
        for await frame in frames {
            if frame.type == type { return frame }
            if frame.type == Frame.ping, !frame.hasFirstFlag { try send(.pong(frame)) }
        }
        throw ToolFailure(what: "the peer ended before frame \(type)")
    }

    /// Returns when the client has taken everything that was sent: it answers a PING in its turn.
    func awaitUnderstanding() async throws {
        try send(Frame(type: Frame.ping, payload: Array(repeating: 1, count: 8)))
        var frame: Frame
        repeat { frame = try await next(Frame.ping) } while !frame.hasFirstFlag
    }

    /// The stream of the next request, on whichever connection it comes: greets each of them and answers PINGs.
    func nextRequest(maxStreams: UInt32 = 10) async throws -> UInt32 {
        for await frame in frames {
            switch frame.type {
            case Frame.headers: return frame.stream
            case Frame.settings where !frame.hasFirstFlag:
                try send(.settings(maxStreams: maxStreams), .settingsAcknowledged)
            case Frame.ping where !frame.hasFirstFlag: try send(.pong(frame))
            default: break
            }
        }
        throw ToolFailure(what: "the peer ended before a request")
    }

    /// Takes the client's SETTINGS and sends its own.
    func greet(maxStreams: UInt32?) async throws {
        _ = try await next(Frame.settings)
        try send(.settings(maxStreams: maxStreams), .settingsAcknowledged)
    }

    /// Ends it without a farewell.
    func kill() { process.kill() }

    // The reading thread holds the process: end it, so that the thread sees the end of its output.
    deinit { kill() }
}
