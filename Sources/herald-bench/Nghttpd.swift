import Foundation

/// nghttpd answering from the token files of a ``Scratch``: the sink that both senders get.
final class Nghttpd {
    let port: Int
    private let program: Program

    /// Starts it on `cores` and returns once it takes connections.
    init(_ scratch: Scratch, cores: String, streams: Int, workers: Int) async throws {
        let nghttpd = try Program.find("nghttpd", package: "nghttp2-server")
        let taskset = try Program.find("taskset", package: "util-linux")
        for _ in 0..<20 {
            // There is no way to let nghttpd choose: a port that somebody else has ends it, and another is tried.
            let port = Int.random(in: 20_000..<32_000)
            let program = try Program(
                taskset,
                [
                    "-c", cores, nghttpd, "-a", "127.0.0.1", "-n", String(workers), "-m", String(streams), "-d",
                    scratch.root, String(port), scratch.key, scratch.certificate,
                ])
            if try await Self.answers(program, port: port) {
                self.port = port
                self.program = program
                return
            }
            program.end()
        }
        throw BenchFailure("nghttpd did not start")
    }

    deinit { program.end() }

    /// Whether it answers, before it ends. nghttpd does not say when it is ready.
    private static func answers(_ program: Program, port: Int) async throws -> Bool {
        let h2load = try Program.find("h2load", package: "nghttp2-client")
        for _ in 0..<200 where program.isRunning {
            let attempt = try Program(h2load, ["-n", "1", "https://127.0.0.1:\(port)/"])
            if attempt.waitForOutput().contains("1 done, 1 succeeded") || attempt.printed.contains(" 1 4xx") {
                return program.isRunning
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
