import Crypto
import CryptoExtras
import Foundation
import JSON
import PushModel
import TestSupport
import Testing

@testable import GatewayAPI
@testable import herald

/// `herald service-account`, beside a gateway that runs.
@Suite(.timeLimit(.minutes(5)))
struct ServiceAccountTests {
    private static func run(
        _ arguments: [String], _ test: GatewayUnderTest
    ) async throws -> (status: Int32, lines: [String]) {
        try await GatewayProcess.run(
            ["service-account", arguments[0], "--config", test.configuration] + arguments.dropFirst())
    }

    private static func create(
        _ test: GatewayUnderTest, _ process: GatewayProcess, name: String, _ options: [String] = []
    ) async throws -> (path: String, file: ServiceAccountFile) {
        let path = test.directory.file("\(name).json")
        let made = try await run(
            [
                "create", "--project", "demo", "--name", name, "--out", path, "--token-uri",
                process.baseURL + "/token",
            ] + options, test)
        #expect(made.status == 0, "\(made.lines)")
        return (path, try #require(ServiceAccountFile(text: try String(contentsOfFile: path, encoding: .utf8))))
    }

    /// A JWT as a backend signs it.
    private static func jwt(
        _ path: String, now: Int64, audience: String = "https://fcm.googleapis.com/"
    ) throws -> String {
        let json = try JSONValue(parsing: Array(Data(contentsOf: URL(filePath: path))))
        let key = try _RSA.Signing.PrivateKey(pemRepresentation: #require(json["private_key"]?.stringValue))
        let header = #"{"alg":"RS256","kid":"\#(try #require(json["private_key_id"]?.stringValue))"}"#
        let claims = """
            {"iss":"\(try #require(json["client_email"]?.stringValue))","aud":"\(audience)",\
            "iat":\(now),"exp":\(now + 3600)}
            """
        let signed = [header, claims].map { Base64URL.text(Array($0.utf8)) }.joined(separator: ".")
        let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.text(signature.rawRepresentation)
    }

    private static func status(bearer: String, _ process: GatewayProcess) async throws -> Int {
        try await APIClient(baseURL: process.baseURL, key: bearer).get("/v1/projects/demo/messages").status
    }

    /// Waits until a bearer is refused. A poll: what the other process commits gives no signal to this one.
    private static func waitForRefusal(_ bearer: String, _ process: GatewayProcess) async throws {
        while try await status(bearer: bearer, process) != 401 { try await Task.sleep(for: .milliseconds(50)) }
    }

    @Test func keysWorkUntilTheyAreRevokedBesideTheGateway() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let (path, file) = try await Self.create(test, process, name: "backend")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
            let now = Int64(Date().timeIntervalSince1970)
            let jwt = try Self.jwt(path, now: now)
            let assertion = try Self.jwt(path, now: now, audience: "https://oauth2.googleapis.com/token")
            let token = try await Self.token(assertion, process)
            #expect(try await Self.status(bearer: assertion, process) == 401)
            #expect(try await Self.status(bearer: token, process) == 200)
            #expect(try await Self.status(bearer: jwt, process) == 200)

            // A second key works beside the first, and after it.
            let next = test.directory.file("next.json")
            let uri = ["--token-uri", process.baseURL + "/token"]
            let account = file.account.rawValue
            let rotated = try await Self.run(["rotate", account, "--out", next] + uri, test)
            #expect(rotated.status == 0)
            #expect(rotated.lines.last == "Still works: herald service-account revoke \(file.keyID)")
            let nextJWT = try Self.jwt(next, now: now)
            #expect(try await Self.status(bearer: nextJWT, process) == 200)
            #expect(try await Self.run(["revoke", file.keyID], test).status == 0)
            try await Self.waitForRefusal(token, process)
            try await Self.waitForRefusal(jwt, process)
            #expect(try await Self.status(bearer: nextJWT, process) == 200)

            let list = try await Self.run(["list", "--json"], test)
            let keys = try list.lines.map { try JSONValue(parsing: Array($0.utf8)) }
            #expect(keys.map { $0["account"]?.stringValue } == [account, account])
            #expect(keys.map { $0["revokeTime"] != nil } == [true, false])
            #expect(!list.lines.joined().contains("PRIVATE"))

            #expect(try await Self.run(["disable", account], test).lines == ["Account \(account) is disabled."])
            try await Self.waitForRefusal(nextJWT, process)
            #expect(try await Self.run(["list"], test).lines.last?.contains("disabled 20") == true)
            #expect(try await Self.run(["enable", account], test).status == 0)
            #expect(try await Self.status(bearer: Self.jwt(next, now: now + 1), process) == 200)
            #expect(try await Self.run(["delete", account], test).status == 0)
            try await Self.waitForRefusal(nextJWT, process)
            #expect(try await Self.run(["list"], test).lines == ["No service accounts."])
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    private static func token(_ assertion: String, _ process: GatewayProcess) async throws -> String {
        let client = APIClient(baseURL: process.baseURL, key: "none")
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        let answer = try await client.post(
            "/token", "grant_type=\(grant)&assertion=\(assertion)", type: "application/x-www-form-urlencoded")
        return try #require(try answer.json["access_token"] as? String, "\(answer.text)")
    }

    @Test func anAccountHasANameAlsoWhenNoneIsGiven() async throws {
        let fixture = try ServeFixture()
        let out = fixture.directory.file("sa.json")
        let made = try await GatewayProcess.run(
            ["service-account", "create", "--config", fixture.file, "--project", "demo", "--out", out],
            environment: ["HERALD_LISTEN_PORT": "8080"])
        #expect(made.status == 0, "\(made.lines)")
        let file = try #require(ServiceAccountFile(text: try String(contentsOfFile: out, encoding: .utf8)))
        #expect(file.account.rawValue == "firebase-adminsdk@demo.iam.herald")
        #expect(file.tokenURI == "http://127.0.0.1:8080/token")
    }

    @Test func mistakesAreReportedAndChangeNothing() async throws {
        let fixture = try ServeFixture()
        let out = fixture.directory.file("sa.json")
        let create = [
            "service-account", "create", "--config", fixture.file, "--project", "demo", "--out", out, "--token-uri",
            "https://push.example.com/token",
        ]
        #expect(try await GatewayProcess.run(create + ["--name", "a"]).status == 0)
        let first = try String(contentsOfFile: out, encoding: .utf8)
        let cases: [(arguments: [String], status: Int32, word: String)] = [
            (create + ["--name", "b"], 74, "--force"),
            // The fixture's port is any free one, unknown before it is bound.
            (Array(create.dropLast(2)) + ["--name", "b", "--force"], 64, "--token-uri"),
            (create + ["--name", "a", "--force"], 1, "rotate a@demo.iam.herald"),
            (create + ["--name", "Big"], 64, "a-z"),
            (create + ["--name", "b", "--role", "client"], 64, "admin or sender"),
            (create + ["--name", "b", "--token-uri", "https://push.example.com/"], 64, "token endpoint"),
            (
                [
                    "service-account", "rotate", "--config", fixture.file, "none@demo.iam.herald", "--out", out,
                    "--force",
                    "--token-uri", "https://push.example.com/token",
                ], 1, "no account"
            ),
            (["service-account", "revoke", "--config", fixture.file, "none"], 1, "no key none"),
            (["service-account", "delete", "--config", fixture.file, "none@demo.iam.herald"], 1, "no account"),
            (["service-account", "delete", "--config", fixture.file, "none"], 64, "none"),
        ]
        for (arguments, status, word) in cases {
            let answer = try await GatewayProcess.run(arguments)
            #expect(answer.status == status, "\(arguments)")
            #expect(answer.lines.contains { $0.contains(word) }, "\(answer.lines)")
        }
        #expect(try String(contentsOfFile: out, encoding: .utf8) == first)
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
        #expect(!left.contains { $0.hasPrefix(".herald-") })
    }

    private static let script = """
        import sys, firebase_admin
        from firebase_admin import credentials, messaging
        path, base = sys.argv[1:3]
        messaging._MessagingService.FCM_URL = base + "/v1/projects/{0}/messages:send"
        firebase_admin.initialize_app(credentials.Certificate(path))
        message = messaging.Message(topic="news", notification=messaging.Notification("Hello"))
        try:
            print(messaging.send(message))
            print(messaging.send_each([message] * 20).success_count)
        except Exception as error:
            print(type(error).__name__, error)
        """

    @Test(
        .enabled(Python.current.expectation, { try await Python.current.isFound() }),
        arguments: [[], ["--universe-domain", "push.example.com"]])
    func anUnmodifiedPythonSDKSends(options: [String]) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let (path, file) = try await Self.create(test, process, name: "python", options)
            let sent = try await Python.current.run(program: Self.script, [path, process.baseURL])
            #expect(sent.lines.first?.hasPrefix("projects/demo/messages/") == true, "\(sent.lines)")
            #expect(sent.lines.last == "20")

            #expect(try await Self.run(["revoke", file.keyID], test).status == 0)
            // A JWT of the same second is the same one, and what the gateway knows of it may be half a second old.
            var refused = try await Python.current.run(program: Self.script, [path, process.baseURL])
            while refused.lines.first?.hasPrefix("projects/") == true {
                refused = try await Python.current.run(program: Self.script, [path, process.baseURL])
            }
            #expect(refused.lines.count == 1)
            let word = options.isEmpty ? "invalid_grant" : "UnauthenticatedError"
            #expect(refused.lines.first?.contains(word) == true, "\(refused.lines)")
            #expect(refused.lines.first?.contains("revoked") == true)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
