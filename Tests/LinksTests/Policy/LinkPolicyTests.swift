import PushModel
import Testing

@testable import Links

struct LinkPolicyTests {
    private func allows(_ url: String, targets: [String] = [], patterns: [String] = []) throws -> Bool {
        try SampleLinks.policy(targets: targets, patterns: patterns).allows(TargetURL(url))
    }

    @Test("without targets and patterns nothing is allowed")
    func empty() throws {
        #expect(try !allows("https://a.example/"))
    }

    @Test(
        "a host is allowed by its name, its sub-domains by a star",
        arguments: [
            ("https://a.example/x", true), ("http://A.EXAMPLE:8080/", true), ("https://b.a.example/", false),
            ("https://a.example.evil/", false), ("https://evila.example/", false), ("https://x.b.example/", true),
            ("https://y.x.b.example/", true), ("https://b.example/", false), ("https://xb.example/", false),
            ("https://xn--bcher-kva.example/", true), ("https://bücher.example/", true), ("https://192.0.2.1/", false),
        ])
    func hosts(url: String, expected: Bool) throws {
        #expect(try allows(url, targets: ["A.example", "*.b.example", "bücher.example"]) == expected)
    }

    @Test("own links and the own preview page are never targets")
    func own() throws {
        let all = ["https?://.*"]
        for url in [
            "https://go.example.com", "https://go.example.com:8443/x", "http://GO.example.com/",
            "https://preview.example.com/x",
            "https://links.example.com/promo", "https://links.example.com/promo/x",
            "https://links.example.com/%70romo/x",
            "https://links.example.com/a/../promo/",
        ] {
            #expect(try !allows(url, patterns: all), "\(url)")
        }
        #expect(try allows("https://links.example.com/promotion", patterns: all))
        #expect(try allows("https://links.example.com/", patterns: all))
    }

    @Test(
        "a pattern for a host's root takes each spelling of it",
        arguments: [
            "https://a\\.example", "https://a\\.example/", "https://a\\.example/.*", "^https://a\\.example/?$",
        ])
    func roots(pattern: String) throws {
        #expect(try allows("https://a.example", patterns: [pattern]))
        #expect(try allows("https://a.example/", patterns: [pattern]))
        #expect(try allows("https://a.example?", patterns: [pattern]))
        #expect(try !allows("https://a.example.evil", patterns: [pattern]))
    }

    @Test("a pattern with a query takes it with and without the slash")
    func rootQueries() throws {
        #expect(try allows("https://a.example?x=1", patterns: ["https://a\\.example\\?x=\\d"]))
        #expect(try allows("https://a.example?x=1", patterns: ["https://a\\.example/.*"]))
        #expect(try !allows("https://a.example/y?x=1", patterns: ["https://a\\.example\\?x=\\d"]))
    }

    @Test("patterns see the normalised URL")
    func normalised() throws {
        let patterns = ["https://a\\.example/safe/.*"]
        #expect(try allows("HTTPS://A.example:443/safe/é", patterns: patterns))
        #expect(try !allows("https://a.example/safe/../evil", patterns: patterns))
        #expect(try !allows("https://a.example/safe/%2e%2E/evil", patterns: patterns))
        #expect(try !allows("https://a.example:444/safe/x", patterns: patterns))
    }

    @Test("a bad target or pattern is named")
    func problems() {
        for target in ["", "*", "a.example/", "https://a.example", "*.*.example", "a b", "a.example:443"] {
            let problem = #expect(throws: LinkProblem.self) { try SampleLinks.policy(targets: [target]) }
            #expect(problem?.field == "links.targets")
        }
        let problem = #expect(throws: LinkProblem.self) { try SampleLinks.policy(patterns: ["ok", "a(b"]) }
        #expect(problem?.field == "links.patterns")
        #expect(problem?.message.contains("character 2") == true)
        #expect(throws: LinkProblem.self) { try SampleLinks.policy(patterns: Array(repeating: "a", count: 11)) }
    }
}
