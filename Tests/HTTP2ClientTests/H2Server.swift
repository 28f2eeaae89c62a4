import Foundation
import TestSupport
import Testing

/// A running `h2_server.py`: Python's h2 library as the peer.
final class H2Server: Sendable {
    /// What the server does beside answering 200; probabilities are those of one request.
    struct Behaviour: Encodable, Sendable, CustomTestStringConvertible {
        var testDescription: String
        var seed = 1
        /// Values to choose from, for each connection and each change.
        var streams: [Int] = [100]
        var windows: [Int] = [65_535]
        var tables: [Int] = [4096]
        var frames: [Int] = [16_384]
        /// Requests on a connection from one change of SETTINGS to the next.
        var flapEvery: Int?
        /// Requests on a connection before its GOAWAY.
        var goAwayAfter: Int?
        /// Requests on a connection before it breaks the protocol.
        var garbageAfter: Int?
        var reject = 0.1
        var refuse = 0.0
        var reset = 0.0
        var interim = 0.02
        var trailers = 0.1
        var ping = 0.0
    }

    /// What the server saw.
    struct Report: Decodable, Sendable {
        var connections: Int
        /// Answers by status.
        var statuses: [String: Int]
        var refused: Int
        var reset: Int
        /// Requests beyond GOAWAY's last stream.
        var beyond: Int
        var cancelled: Int
        /// Connections that the client ended by GOAWAY without an error.
        var goodbyes: Int
        /// Rules of HTTP/2, or of ours, that the client broke.
        var violations: [String]
    }

    let port: Int
    let tls: TLSMaterial
    private let process: ChildProcess
    private let lines: AsyncStream<String>

    init(_ behaviour: Behaviour) async throws {
        tls = try TLSMaterial()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "h2_server.py").path()
        let text = String(decoding: try JSONEncoder().encode(behaviour), as: UTF8.self)
        let process = try ChildProcess(Tool.python, ["-B", script, tls.certificate, tls.key, text], linked: true)
        self.process = process
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        let reader = Thread {
            var text: [UInt8] = []
            while case let bytes = process.read(), !bytes.isEmpty {
                text += bytes
                while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: text[..<end], as: UTF8.self))
                    text.removeSubrange(...end)
                }
            }
            continuation.finish()
        }
        reader.start()
        guard let line = await Self.first(of: lines), let port = Int(line) else {
            throw ToolFailure(what: "h2_server.py did not start")
        }
        self.port = port
    }

    private static func first(of lines: AsyncStream<String>) async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// What it saw up to now.
    func report() async throws -> Report {
        try process.write([UInt8(ascii: "\n")])
        guard let line = await Self.first(of: lines) else { throw ToolFailure(what: "h2_server.py ended") }
        return try JSONDecoder().decode(Report.self, from: Data(line.utf8))
    }

    // The reading thread holds the process: end it, so that the thread sees the end of its output.
    deinit { process.kill() }
}
