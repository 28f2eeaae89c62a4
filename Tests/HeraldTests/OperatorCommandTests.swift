import JSON
import TestSupport
import Testing

/// `herald operator` as processes, on a store that no gateway has open.
@Suite(.timeLimit(.minutes(5)))
struct OperatorCommandTests {
    private static func run(
        _ arguments: [String], _ test: GatewayUnderTest
    ) async throws -> (status: Int32, lines: [String]) {
        try await GatewayProcess.run(
            ["operator"] + arguments + ["--config", test.configuration],
            environment: ["HERALD_PUBLIC_URL": "https://push.example.com"])
    }

    @Test func anOperatorIsMadeListedAndRevokedAndTheLastLineIsALink() async throws {
        try await GatewayUnderTest.with { test in
            let made = try await Self.run(["create", "ada", "--project", "demo", "--role", "operator"], test)
            #expect(made.status == 0, "\(made.lines)")
            let link = try #require(made.lines.last)
            #expect(link.wholeMatch(of: #/https://push\.example\.com/console/link/[A-Za-z0-9_-]{43}/#) != nil)
            let other = try await Self.run(["link", "ada"], test)
            #expect(other.status == 0 && other.lines.last != link)
            let list = try await Self.run(["list", "--json"], test)
            let ada = try JSONValue(parsing: try #require(list.lines.first).utf8)
            #expect(ada["roles"]?["demo"] == .string("operator") && !list.lines.joined().contains("/link/"))
            #expect(try await Self.run(["revoke", "ada"], test).status == 0)
            for gone in [["link", "ada"], ["revoke", "ada"], ["link", "grace"]] {
                let refused = try await Self.run(gone, test)
                #expect(refused.status != 0 && refused.lines.last?.contains("herald operator list") == true)
            }
            let wrong = try await Self.run(["create", "ada", "--project", "nothing", "--role", "viewer"], test)
            #expect(wrong.status == 78 && wrong.lines.last?.contains("no project nothing") == true)
        }
    }
}
