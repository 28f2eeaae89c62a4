import Crypto
import Foundation
import TestSupport
import Testing

/// A configuration with a project and a key of its own, and nothing upstream.
struct ServeFixture {
    let directory: TestDirectory
    var file: String { directory.file("herald.yaml") }
    var projectFile: String { directory.file("projects/demo.yaml") }

    static let app = """
          - id: com.example.app
            platform: apple
            apns:
              team: TEAM123456
              key: @/AuthKey_ABC1234567.p8
              endpoint: 127.0.0.1:1

        """

    /// - Parameter edits: replacements in the gateway's file; `@` is the directory.
    init(edits: [(String, String)] = [], project: String = "project: demo\nnumber: 1\napps:\n" + app) throws {
        directory = try TestDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.file("projects"), withIntermediateDirectories: true)
        var text = """
            listen:
              host: 127.0.0.1
              port: 0
            data: @/data
            projects: @/projects
            log:
              level: info

            """
        for (old, new) in edits { text = text.replacing(old, with: new) }
        try write(text, to: file)
        try write(project, to: projectFile)
        try writeKey(P256.Signing.PrivateKey().pemRepresentation, "AuthKey_ABC1234567.p8")
        try writeKey(P384.Signing.PrivateKey().pemRepresentation, "AuthKey_P384AAAAAA.p8")
    }

    func write(_ text: String, to path: String) throws {
        try text.replacing("@", with: directory.path).write(toFile: path, atomically: true, encoding: .utf8)
    }

    private func writeKey(_ pem: String, _ name: String) throws {
        try pem.write(toFile: directory.file(name), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: directory.file(name))
    }
}

/// `herald serve` as a process that can't start: one line, and a code for the supervisor.
@Suite(.timeLimit(.minutes(5)))
struct StartTests {
    /// A start that must fail; `@` in a text is the directory.
    struct BadStart: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var edits: [(String, String)] = []
        var project = "project: demo\nnumber: 1\napps:\n" + ServeFixture.app
        var environment: [String: String] = [:]
        var code: Int32
        var line: String
    }

    static let badStarts = [
        BadStart(
            testDescription: "unknown key", edits: [("  port:", "  prot:")], code: 78,
            line: "@/herald.yaml:3: listen.prot: unknown key; did you mean \"port\"?"),
        BadStart(
            testDescription: "wrong type", edits: [("port: 0", "port: many")], code: 78,
            line: "@/herald.yaml:3: listen.port: expected a whole number, found \"many\""),
        BadStart(
            testDescription: "wrong variable", environment: ["HERALD_LISTEN_PORT": "x"], code: 78,
            line: "HERALD_LISTEN_PORT: listen.port: expected a whole number, found \"x\""),
        BadStart(
            testDescription: "no projects directory", edits: [("@/projects", "@/none")], code: 78,
            line: "@/herald.yaml:5: projects: @/none: no such directory; make it or name the right one"),
        BadStart(
            testDescription: "missing key file",
            project: "project: demo\nnumber: 1\napps:\n"
                + ServeFixture.app.replacing("AuthKey_ABC1234567", with: "AuthKey_NONEAAAAAA"),
            code: 78, line: "@/projects/demo.yaml:8: apps[0].apns.key: @/AuthKey_NONEAAAAAA.p8: no such file"),
        BadStart(
            testDescription: "key of another curve",
            project: "project: demo\nnumber: 1\napps:\n"
                + ServeFixture.app.replacing("AuthKey_ABC1234567", with: "AuthKey_P384AAAAAA"),
            code: 78,
            line: "@/projects/demo.yaml:8: apps[0].apns.key: @/AuthKey_P384AAAAAA.p8: not a P-256 key; "
                + "APNs takes no other; use the .p8 of the developer account"),
        BadStart(
            testDescription: "data can't be made", edits: [("@/data", "/proc/herald")], code: 74,
            line: "@/herald.yaml:4: data: The directory /proc/herald of the store can't be made; "
                + "name a directory that this user may make and write"),
        BadStart(
            testDescription: "data of a variable can't be made", environment: ["HERALD_DATA": "/proc/herald"],
            code: 74,
            line: "HERALD_DATA: data: The directory /proc/herald of the store can't be made; "
                + "name a directory that this user may make and write"),
        BadStart(
            testDescription: "address of another machine", environment: ["HERALD_LISTEN_HOST": "203.0.113.7"],
            code: 78,
            line: "HERALD_LISTEN_HOST: listen.host: 203.0.113.7:0 is not an address of this machine; "
                + "use one that ip addr shows"),
        BadStart(
            testDescription: "certificate that is none",
            edits: [("  port: 0", "  port: 0\n  certificate: @/herald.yaml\n  key: @/AuthKey_ABC1234567.p8")],
            code: 78,
            line: "@/herald.yaml:4: listen.certificate: The certificate file @/herald.yaml is not a PEM certificate "
                + "that can be used; name a PEM certificate chain that this user may read"),
        BadStart(
            testDescription: "certificate that is not there",
            edits: [("  port: 0", "  port: 0\n  certificate: @/none.pem\n  key: @/AuthKey_ABC1234567.p8")],
            code: 78,
            line: "@/herald.yaml:4: listen.certificate: The certificate file @/none.pem can't be read: no such file; "
                + "name a PEM certificate chain that this user may read"),
        BadStart(
            testDescription: "certificate without key", edits: [("  port: 0", "  port: 0\n  certificate: a.pem")],
            code: 78,
            line: "@/herald.yaml:4: listen.certificate: needs its key; add \"key: <PEM file>\" to listen"),
    ]

    @Test(arguments: badStarts)
    func eachBadStartIsOneLineAndItsCode(start: BadStart) async throws {
        let fixture = try ServeFixture(edits: start.edits, project: start.project)
        let result = try await GatewayProcess.run(
            ["serve", "--config", fixture.file], environment: start.environment)
        #expect(result.status == start.code)
        #expect(result.lines == ["herald: " + start.line.replacing("@", with: fixture.directory.path)])
    }

    @Test func missingFileEndsWith78() async throws {
        let directory = try TestDirectory()
        let result = try await GatewayProcess.run(["serve", "--config", directory.file("none.yaml")])
        #expect(result.status == 78)
        #expect(result.lines == ["herald: \(directory.file("none.yaml")): no such file"])
    }

    @Test func busyPortEndsWith69AndNamesItsLineOrVariable() async throws {
        let first = try ServeFixture()
        let running = try await GatewayProcess.serving(config: first.file)
        let address = running.baseURL.replacing("http://", with: "")
        let port = try #require(address.split(separator: ":").last.map(String.init))
        let text = "\(address) is in use; stop the program that listens there or take another port"

        let second = try ServeFixture(edits: [("port: 0", "port: \(port)")])
        let byFile = try await GatewayProcess.run(["serve", "--config", second.file])
        #expect(byFile.status == 69)
        #expect(byFile.lines == ["herald: \(second.file):3: listen.port: \(text)"])

        let third = try ServeFixture()
        let byVariable = try await GatewayProcess.run(
            ["serve", "--config", third.file], environment: ["HERALD_LISTEN_PORT": port])
        #expect(byVariable.status == 69)
        #expect(byVariable.lines == ["herald: HERALD_LISTEN_PORT: listen.port: \(text)"])
        #expect(await running.end(with: SIGTERM) == 0)
    }

    @Test func secondGatewayOnTheSameDataEndsWith69() async throws {
        let fixture = try ServeFixture()
        let running = try await GatewayProcess.serving(config: fixture.file)
        let second = try await GatewayProcess.run(["serve", "--config", fixture.file])
        #expect(second.status == 69)
        #expect(second.lines.count == 1)
        #expect(second.lines.first?.hasPrefix("herald: \(fixture.file):4: data: Another gateway") == true)
        #expect(await running.end(with: SIGINT) == 0)
    }
}

/// What a running gateway makes of signals and of changed keys.
@Suite(.timeLimit(.minutes(5)))
struct RunningGatewayTests {
    private static func key(_ fixture: ServeFixture, _ role: String) async throws -> String {
        let made = try await GatewayProcess.run(
            ["key", "create", "--config", fixture.file, "--project", "demo", "--role", role])
        #expect(made.status == 0)
        return try #require(made.lines.last)
    }

    private static func register(_ app: String, _ client: APIClient) async throws -> Int {
        try await client.post(
            "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#("0a1b2c".deviceToken)","bundle_id":"\#(app)"}}"#
        ).status
    }

    @Test func hangupTakesAGoodFileAndKeepsTheOldStateAtABadOne() async throws {
        let fixture = try ServeFixture()
        let client = APIClient(baseURL: "", key: try await Self.key(fixture, "admin"))
        let process = try await GatewayProcess.serving(config: fixture.file)
        let api = APIClient(baseURL: process.baseURL, key: client.key)
        #expect(try await Self.register("com.example.app", api) == 200)
        #expect(try await Self.register("com.example.second", api) >= 400)

        let two = ServeFixture.app + ServeFixture.app.replacing("example.app", with: "example.second")
        try fixture.write("project: demo\nnumber: 1\napps:\n" + two, to: fixture.projectFile)
        process.signal(SIGHUP)
        #expect(await process.line(containing: "project files read again") != nil)
        #expect(try await Self.register("com.example.second", api) == 200)

        try fixture.write("project: demo\nnumber: 1\nappz:\n" + ServeFixture.app, to: fixture.projectFile)
        process.signal(SIGHUP)
        let line = await process.line(containing: "\(fixture.projectFile):3: appz: unknown key")
        #expect(line?.contains("the old state stays in force") == true)
        #expect(try await Self.register("com.example.second", api) == 200)
        #expect(await process.end(with: SIGTERM) == 0)
    }

    @Test func keyIsPrintedAloneOnTheLastLineOrAsJSON() async throws {
        let fixture = try ServeFixture()
        let form = /hk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}/
        #expect(try await Self.key(fixture, "sender").wholeMatch(of: form) != nil)

        let made = try await GatewayProcess.run([
            "key", "create", "--config", fixture.file, "--project", "demo", "--role", "admin", "--json",
        ])
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(made.lines.joined().utf8)) as? [String: String])
        #expect(try #require(json["key"]).wholeMatch(of: form) != nil)
        #expect(json["role"] == "admin")
        #expect(json["project"] == "demo")

        let list = try await GatewayProcess.run(["key", "list", "--config", fixture.file])
        #expect(list.lines.count == 3)
        #expect(!list.lines.contains { $0.contains("hk_") })

        let foreign = try await GatewayProcess.run([
            "key", "create", "--config", fixture.file, "--project", "dem", "--role", "admin",
        ])
        #expect(foreign.status == 78)
        #expect(
            foreign.lines == ["herald: no project dem in \(fixture.directory.file("projects")); did you mean demo?"])
    }

    @Test func newAndRevokedKeysCountAtOnceInARunningGateway() async throws {
        let fixture = try ServeFixture()
        let process = try await GatewayProcess.serving(config: fixture.file)
        let key = try await Self.key(fixture, "sender")
        let api = APIClient(baseURL: process.baseURL, key: key)
        #expect(try await api.get("/v1/projects/demo/messages").status == 200)

        let revoked = try await GatewayProcess.run(["key", "revoke", "--config", fixture.file, key])
        #expect(revoked.status == 0)
        #expect(!revoked.lines.joined().contains(key))
        // It is to count within a second; the rest is for a machine that is busy with other tests.
        let deadline = ContinuousClock.now + .seconds(10)
        var status = 200
        while status == 200, ContinuousClock.now < deadline {
            status = try await api.get("/v1/projects/demo/messages").status
        }
        #expect(status == 401 || status == 403)
        #expect(await process.end(with: SIGTERM) == 0)
    }

    /// A client that sent half a request and waits; the gateway has read its head.
    private static func stalledClient(of process: GatewayProcess, key: String) async throws -> ChildProcess {
        let port = try #require(process.baseURL.split(separator: ":").last)
        let client = try ChildProcess(
            "/bin/bash",
            [
                "-c",
                """
                exec 3<>/dev/tcp/127.0.0.1/\(port)
                printf '%s\\r\\n' 'POST /v1/projects/demo/messages:send HTTP/1.1' 'Host: a' 'Expect: 100-continue' \
                    'Authorization: Bearer \(key)' 'Content-Length: 99' '' '{' >&3
                cat <&3
                """,
            ])
        #expect(await client.output.first(containing: "100 Continue") != nil)
        return client
    }

    @Test func aStalledClientDoesNotDelayTheShutdown() async throws {
        let fixture = try ServeFixture()
        let key = try await Self.key(fixture, "sender")
        let process = try await GatewayProcess.serving(
            config: fixture.file, environment: ["HERALD_LIMITS_SHUTDOWN_SECONDS": "1"])
        let client = try await Self.stalledClient(of: process, key: key)
        let start = ContinuousClock.now
        #expect(await process.end(with: SIGTERM) == 0)
        #expect(ContinuousClock.now - start < .seconds(15), "the limit is one second")
        client.signal(SIGKILL)
    }

    @Test func secondInterruptEndsAtOnce() async throws {
        let fixture = try ServeFixture()
        let key = try await Self.key(fixture, "sender")
        let process = try await GatewayProcess.serving(
            config: fixture.file, environment: ["HERALD_LIMITS_SHUTDOWN_SECONDS": "3600"])
        let client = try await Self.stalledClient(of: process, key: key)
        process.signal(SIGINT)
        #expect(await process.line(containing: "stopping") != nil)
        #expect(await process.end(with: SIGINT) == 128 + SIGINT)
        client.signal(SIGKILL)
    }
}
