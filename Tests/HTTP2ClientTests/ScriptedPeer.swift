import Foundation
import Glibc
import Synchronization
import TestSupport

/// An HTTP/2 server whose every frame the test writes: `openssl s_server` does TLS and ALPN, the test the rest.
///
/// One connection at a time, as s_server does it.
final class ScriptedPeer: Sendable {
    let port: Int
    let tls: TLSMaterial
    private let process: Mutex<Process>
    private let input: FileHandle
    private let frames: AsyncStream<Frame>

    /// - Parameter alpn: protocols to choose from; `nil`: no ALPN.
    init(alpn: String? = "h2") async throws {
        tls = try TLSMaterial()
        port = try freePort()
        let process = Process()
        process.executableURL = URL(filePath: Tool.openssl)
        process.arguments =
            ["s_server", "-accept", "127.0.0.1:\(port)", "-key", tls.key, "-cert", tls.certificate, "-quiet"]
            + (alpn.map { ["-alpn", $0] } ?? [])
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (frames, continuation) = AsyncStream.makeStream(of: Frame.self)
        let parser = Mutex(FrameParser())
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                continuation.finish()
            }
            parser.withLock { parser in
                parser.append(data)
                while let frame = parser.next() { continuation.yield(frame) }
            }
        }
        try process.run()
        self.process = Mutex(process)
        self.input = input.fileHandleForWriting
        self.frames = frames
        while !isListening(port: port) {
            guard process.isRunning else { throw ToolFailure(what: "s_server ended") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    func send(_ frames: Frame...) throws {
        try input.write(contentsOf: Data(frames.flatMap(\.bytes)))
    }

    /// The next frame of `type` from the client; others are passed over.
    func next(_ type: UInt8) async throws -> Frame {
        for await frame in frames where frame.type == type && !(type == Frame.settings && frame.hasFirstFlag) {
            return frame
        }
        throw ToolFailure(what: "the peer ended before frame \(type)")
    }

    /// The next frame of `type`; every PING before it is answered.
    func nextAnsweringPings(_ type: UInt8) async throws -> Frame {
        for await frame in frames {
            if frame.type == type { return frame }
            if frame.type == Frame.ping, !frame.hasFirstFlag { try send(.pong(frame)) }
        }
        throw ToolFailure(what: "the peer ended before frame \(type)")
    }

    /// Takes the client's SETTINGS and sends its own.
    func greet(maxStreams: UInt32?) async throws {
        _ = try await next(Frame.settings)
        try send(.settings(maxStreams: maxStreams), .settingsAcknowledged)
    }

    /// Ends it without a farewell.
    func kill() {
        process.withLock { process in
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    deinit { kill() }
}
