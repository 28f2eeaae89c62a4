import Foundation

/// A collector that takes spans by OTLP/HTTP and looks at none of them. In Python: it is beside what is measured.
final class SilentCollector {
    private static let program = """
        import http.server

        class Receiver(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    /// Where spans go.
    let endpoint: String
    private let process: Program

    /// Starts it on `cores`.
    init(cores: String) throws {
        process = try Program(
            try Program.find("taskset", package: "util-linux"),
            ["-c", cores, try Program.find("python3", package: "python3"), "-c", Self.program], showsErrors: true)
        guard let port = Int(process.readLine()) else { throw BenchFailure("the collector did not start") }
        endpoint = "http://127.0.0.1:\(port)"
    }

    deinit { process.end() }
}
