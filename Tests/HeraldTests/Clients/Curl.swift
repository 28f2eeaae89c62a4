import Foundation
import Simulators
import TestSupport

/// curl as a client of a gateway over TLS.
struct Curl: Sendable {
    /// Whether there is one.
    static let isFound = FileManager.default.isExecutableFile(atPath: path)

    private static let path = "/usr/bin/curl"

    private let baseURL: String
    private let directory: TestDirectory
    private let authority: String
    private let key: String

    init(baseURL: String, _ test: GatewayUnderTest) {
        self.baseURL = baseURL
        directory = test.directory
        authority = test.identity.caFile
        key = test.keys.admin
    }

    struct Answer {
        let status: Int
        /// `1.1` or `2`.
        let httpVersion: String
        /// Names in lower case.
        let headers: [String: String]
        let text: String

        var json: [String: Any] {
            get throws { try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:] }
        }
    }

    func post(
        _ path: String, _ body: String, _ headers: [String: String], httpVersion: String = "2"
    ) async throws -> Answer {
        try await send("POST", path, body, headers, httpVersion: httpVersion)
    }

    /// Sends one request on a connection of its own.
    func send(
        _ method: String, _ path: String, _ body: String?, _ headers: [String: String], httpVersion: String = "2"
    ) async throws -> Answer {
        let (input, output, fields) = (
            directory.file("curl-body"), directory.file("curl-answer"), directory.file("curl-headers")
        )
        var arguments = [
            "-sS", "-m", "60", "--cacert", authority, "--http\(httpVersion)", "-X", method, "-H",
            "Authorization: Bearer \(key)", "-o", output, "-D", fields, "-w", "%{http_code} %{http_version}\n",
        ]
        for (name, value) in headers { arguments += ["-H", "\(name): \(value)"] }
        if let body {
            try Data(body.utf8).write(to: URL(filePath: input))
            arguments += ["--data-binary", "@\(input)"]
        }
        let ended = try await ChildProcess.run(Self.path, arguments + [baseURL + path])
        let told = ended.lines.last?.split(separator: " ").map(String.init) ?? []
        guard ended.status == 0, told.count == 2, let status = Int(told[0]) else {
            throw ChildProcessError("curl: \(ended)")
        }
        return Answer(
            status: status, httpVersion: told[1], headers: try Self.headers(fields),
            text: try String(contentsOfFile: output, encoding: .utf8))
    }

    private static func headers(_ file: String) throws -> [String: String] {
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isNewline)
        let pairs = lines.compactMap { line -> (String, String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        return Dictionary(pairs, uniquingKeysWith: { $1 })
    }
}
