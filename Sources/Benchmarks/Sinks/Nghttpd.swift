import Foundation

/// nghttpd answering from one empty file.
///
/// It looks a path up only as far as the question mark, so `/3/device?` and 64 digits of a device token find the file
/// `/3/device`: every push has a path of its own, and the sink's work is the same for each. With a file for each token
/// it would not be: nghttpd keeps files open, up to 2,048 of them, and h2load's connections walk their list of paths
/// abreast and find them open, while those of the engine, which gives pushes to any connection with room, do not.
final class Nghttpd: Sink {
    private static let prefix = "/3/device?"
    let pathPrefix = Nghttpd.prefix
    let port: Int
    let program: Program

    /// Starts it on `cores` and returns once it takes connections.
    init(_ scratch: Scratch, cores: String, streams: Int, workers: Int) async throws {
        let nghttpd = try Program.find("nghttpd", package: "nghttp2-server")
        let taskset = try Program.find("taskset", package: "util-linux")
        for _ in 0..<20 {
            // There is no way to let nghttpd choose: a port that is taken ends it, and another is tried.
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
            let attempt = try Program(h2load, ["-n", "1", "https://127.0.0.1:\(port)\(prefix)"])
            if attempt.waitForOutput().contains(" 1 2xx,") { return program.isRunning }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
