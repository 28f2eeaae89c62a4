import Foundation
import JSON
import PushModel
import TestSupport
import Testing

@testable import herald

/// `herald key` and `herald audit` as processes, on a store that no gateway has open.
@Suite(.timeLimit(.minutes(5)))
struct KeyAuditCommandTests {
    private static func run(
        _ arguments: [String], _ test: GatewayUnderTest
    ) async throws -> (status: Int32, lines: [String]) {
        try await GatewayProcess.run(arguments + ["--config", test.configuration])
    }

    private static func objects(_ lines: [String]) throws -> [JSONValue] {
        try lines.map { try JSONValue(parsing: $0.utf8) }
    }

    /// The words of a table's row: cells are two spaces apart at least.
    private static func cells(_ line: String) -> [String] {
        line.split(separator: /\ {2,}/).map(String.init)
    }

    @Test func aListOfKeysShowsNameLastUseAndEnd() async throws {
        try await GatewayUnderTest.with { test in
            let create = ["key", "create", "--project", "demo", "--role", "sender", "--json"]
            let made = try await Self.run(create + ["--name", "news backend", "--expires", "90d"], test)
            #expect(made.status == 0, "\(made.lines)")
            let key = try #require(Self.objects(made.lines).first)
            let id = try #require(key["id"]?.stringValue)
            let begin = try #require(key["createTime"]?.stringValue)
            let end = try #require(key["expireTime"]?.stringValue)
            let created = try #require(Timestamp(rfc3339: begin))
            #expect(Timestamp(rfc3339: end) == created + .seconds(90 * 86_400))

            let table = try await Self.run(["key", "list", "--project", "demo"], test)
            let titles = ["ID", "NAME", "PROJECT", "ROLE", "CREATED", "LAST USED", "EXPIRES", "REVOKED"]
            #expect(table.lines.first.map(Self.cells) == titles)
            let row = try #require(table.lines.first { $0.hasPrefix(id) })
            #expect(Self.cells(row) == [id, "news backend", "demo", "sender", begin, "-", end, "-"])

            // An object a line: three that the fixture made, and this one; never a secret.
            let list = try await Self.run(["key", "list", "--json"], test)
            let keys = try Self.objects(list.lines)
            #expect(keys.count == 4 && keys.contains { $0["id"] == .string(id) && $0["name"] == key["name"] })
            #expect(keys.allSatisfy { $0["key"] == nil } && !list.lines.joined().contains("hk_"))
            #expect(try await Self.run(["key", "list", "--project", "other"], test).lines == ["No keys."])
        }
    }

    @Test func whereThereIsNoStoreNoneIsMadeByLooking() async throws {
        let fixture = try ServeFixture()
        let missing = fixture.directory.file("missing/data")
        for command in [
            ["key", "list"], ["key", "revoke", "x"], ["service-account", "list"], ["audit"], ["doctor", "--ledger"],
            ["registration", "export", "-", "--project", "demo", "--format", "csv"],
        ] {
            let result = try await GatewayProcess.run(
                command + ["--config", fixture.file], environment: ["HERALD_DATA": missing])
            #expect(result.status != 0, "\(command)")
            #expect(
                result.lines.last?.contains("HERALD_DATA: data: there is no store in \(missing)") == true,
                "\(command): \(result.lines)")
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.directory.file("missing")))
        let create = ["key", "create", "--project", "demo", "--role", "admin", "--config", fixture.file]
        #expect(try await GatewayProcess.run(create).status == 0)
    }

    @Test func theAuditShowsTheCreatorAndTheRevokerOfAKey() async throws {
        try await GatewayUnderTest.with { test in
            let create = ["key", "create", "--project", "demo", "--role", "sender", "--json", "--name", "press"]
            let id = try #require(
                Self.objects(try await Self.run(create, test).lines).first?["id"]?.stringValue)
            for _ in 0..<2 { #expect(try await Self.run(["key", "revoke", id], test).status == 0) }
            let audit = ["audit", "--json", "--project", "demo"]
            let whole = try Self.objects(try await Self.run(audit, test).lines)
            #expect(
                whole.map { $0["action"]?.stringValue } == ["key.revoke"] + Array(repeating: "key.create", count: 4))
            let own = try await Self.run(audit + ["--subject", id], test)
            #expect(try Self.objects(own.lines) == Array(whole.prefix(2)))
            let user = ProcessInfo.processInfo.environment["SUDO_USER"] ?? ProcessInfo.processInfo.userName
            #expect(whole.first?["credential"]?["id"] == .string("command"))
            #expect(whole.first?["credential"]?["name"] == .string(user))
            #expect(!own.lines.joined().contains("hk_"))

            let revocations = try await Self.run(audit + ["--action", "key.revoke"], test)
            #expect(try Self.objects(revocations.lines) == Array(whole.prefix(1)))
            #expect(try await Self.run(audit + ["--limit", "3"], test).lines.count == 3)
            #expect(try await Self.run(["audit", "--since", "2100-01-01T00:00:00Z"], test).lines == ["No entries."])

            let table = try await Self.run(["audit", "--action", "key.revoke"], test)
            #expect(
                table.lines.first.map(Self.cells)
                    == ["TIME", "PROJECT", "ACTION", "SUBJECT", "BY", "ADDRESS", "DETAILS"])
            let time = try #require(whole.first?["time"]?.stringValue)
            #expect(
                table.lines.last.map(Self.cells)
                    == [time, "demo", "key.revoke", id, "command (\(user))", "-", "name=press"])
        }
    }

    // MARK: --expires

    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test(
        arguments: [
            ("90d", 90 * 86_400), ("12h", 43_200), ("30m", 1800), ("1d", 86_400), ("36525d", 36_525 * 86_400),
        ] as [(String, Int64)])
    func aWhileIsANumberOfDaysHoursOrMinutes(text: String, seconds: Int64) {
        #expect(Expiry(argument: text)?.time(from: Self.now) == Self.now + .seconds(seconds))
    }

    @Test func anEndIsAnRFC3339Time() {
        let time = Timestamp(rfc3339: "2030-01-02T03:04:05Z")
        #expect(time != nil && Expiry(argument: "2030-01-02T03:04:05Z")?.time(from: Self.now) == time)
    }

    @Test(
        arguments: [
            "", "d", "0d", "-1d", "1.5d", "36526d", "9999999999999999999d", "5s", "5w", "5", "5 d", "tomorrow",
            "2030-01-02",
        ])
    func whatIsNoEndIsRefused(text: String) {
        #expect(Expiry(argument: text) == nil)
    }

    @Test func anEndInThePastMakesNoKey() async throws {
        try await GatewayUnderTest.with { test in
            let made = try await Self.run(
                ["key", "create", "--project", "demo", "--role", "sender", "--expires", "2020-01-02T03:04:05Z"], test)
            #expect(made.status == 64 && made.lines.joined().contains("is not in the future"), "\(made.lines)")
            #expect(try await Self.run(["key", "list", "--json"], test).lines.count == 3)
        }
    }

    // MARK: publicURL

    @Test(
        arguments: [
            ("https://push.example.com", "https://push.example.com"),
            ("https://push.example.com/", "https://push.example.com"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://a.example/herald/", "https://a.example/herald"),
            ("push.example.com", nil), ("ftp://push.example.com", nil), ("https://", nil),
            ("https://a.example?x=1", nil),
            ("https://a.example#x", nil), ("https://user@a.example", nil), ("", nil),
        ] as [(String, String?)])
    func thePublicURLIsThatOfAServerWithoutASlashAtTheEnd(text: String, url: String?) {
        #expect(GatewayConfiguration.publicURL(text) == url)
    }

    private static func read(_ text: String, _ environment: [String: String] = [:]) throws -> GatewayConfiguration {
        let directory = try TestDirectory()
        let path = directory.file("herald.yaml")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try GatewayConfiguration.read(file: path, environment: environment)
    }

    @Test func thePublicURLComesFromTheFileOrTheEnvironmentAndCountsMoreThanTheListener() throws {
        let text = "publicURL: https://push.example.com/\n"
        let configured = try Self.read(text)
        #expect(configured.publicURL == "https://push.example.com")
        #expect(
            try Self.read(text, ["HERALD_PUBLIC_URL": "https://other.example"]).publicURL == "https://other.example")
        let url = PublicURL(of: configured)
        url.listens(at: "http://127.0.0.1:4711")
        #expect(url.text == "https://push.example.com")
        let none = try Self.read("listen:\n  port: 0\n")
        #expect(none.publicURL == nil)
        let free = PublicURL(of: none)
        free.listens(at: "http://127.0.0.1:4711")
        #expect(free.text == "http://127.0.0.1:4711")
        let error = #expect(throws: ConfigurationError.self) { try Self.read("publicURL: push.example.com\n") }
        #expect(error?.problems.first?.field == "publicURL")
        #expect(error?.problems.first?.description.contains("write it like https://push.example.com") == true)
    }
}
