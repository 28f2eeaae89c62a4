/// ``SinkCommand`` in a process of its own.
final class HeraldSink: Sink {
    let pathPrefix = "/3/device/"
    let port: Int
    /// Where it tells what it saw.
    private let reportPort: Int
    let program: Program

    /// Starts it on `cores` and returns once it takes connections.
    ///
    /// - Parameter answer: the body of each answer; empty: none.
    init(
        _ scratch: Scratch, cores: String, streams: Int = 500, threads: Int = 2, delay: Duration, answer: String = ""
    ) throws {
        program = try Program(
            try Program.find("taskset", package: "util-linux"),
            [
                "-c", cores, try Program.own, "sink", "--certificate", scratch.certificate, "--key", scratch.key,
                "--streams", String(streams), "--threads", String(threads), "--delay",
                "\(delay.microseconds)us", "--answer", answer,
            ], showsErrors: true)
        // The first line that it prints, once it listens.
        guard let port = Int(program.readLine()), let reportPort = Int(program.readLine()) else {
            throw BenchFailure("the sink did not start")
        }
        self.port = port
        self.reportPort = reportPort
    }

    deinit { program.end() }

    /// What it saw since it was asked last.
    func takeReport() async throws -> SinkReport {
        try await HTTP.get("http://127.0.0.1:\(reportPort)/", as: SinkReport.self)
    }
}
