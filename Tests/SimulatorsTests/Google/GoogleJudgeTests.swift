import Foundation
import Logging
import Simulators
import TestSupport
import Testing

/// firebase-admin, unmodified, sees Google in the simulator: each error comes out as the exception of its kind.
@Suite(.timeLimit(.minutes(5)))
struct GoogleJudgeTests {
    private static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON"]

    @Test(.enabled(if: python != nil, "HERALD_PYTHON has to name a Python with firebase-admin 7.7"))
    func firebaseAdminTakesItForGoogle() async throws {
        let python = try #require(Self.python)
        let start = Int64(Date().timeIntervalSince1970 * 1000)
        try await GoogleHarness.run(configure: { $0.wallTimeMilliseconds = { start + 1000 } }) { google in
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "google_judge.py").path()
            let authority = google.identity.caFile
            let environment = ProcessInfo.processInfo.environment.merging([
                "REQUESTS_CA_BUNDLE": authority, "SSL_CERT_FILE": authority, "HTTPS_PROXY": "http://127.0.0.1:9",
                "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1",
            ]) { $1 }
            let ended = try await ChildProcess.run(
                python, ["-W", "ignore", script, google.identity.accountFile, "https://127.0.0.1:\(google.port)"],
                environment: environment)
            #expect(ended.status == 0 && ended.lines.last == "done 12", "\(ended.lines.joined(separator: "\n"))")
        }
    }
}
