import PushModel
import Testing

@testable import Links

struct LongLinkTests {
    private let prefixes = [
        SampleLinks.prefix, SampleLinks.pathPrefix, LinkPrefix(host: "links.example.com", path: "/promo/summer"),
        LinkPrefix(scheme: "http", host: "localhost", port: 8080),
    ]

    private func link(_ url: String) throws(LinkProblem) -> LongLink { try LongLink(url: url, prefixes: prefixes) }

    @Test("with and without the slash it is the same link")
    func slashes() throws {
        let query = "?link=https%3A%2F%2Fa.example%2Fx"
        let links = try ["https://go.example.com", "https://go.example.com/", "HTTPS://GO.example.com:443/"].map {
            try link($0 + query)
        }
        #expect(Set(links.map(\.parameters)).count == 1)
        #expect(links.allSatisfy { $0.suffix == nil && $0.prefix == SampleLinks.prefix && $0.warnings.isEmpty })
        #expect(links[0].parameters[.link] == "https://a.example/x")
    }

    @Test("a prefix may have a path, and the longest one counts")
    func paths() throws {
        #expect(try link("https://links.example.com/promo?link=x").prefix.path == "/promo")
        #expect(try link("https://links.example.com/promo/?link=x").suffix == nil)
        #expect(try link("https://links.example.com/promo/summer?link=x").prefix.path == "/promo/summer")
        #expect(try link("https://links.example.com/promo/summer/aB-_9").suffix == "aB-_9")
        #expect(try link("https://links.example.com/promo/spring").suffix == "spring")
    }

    @Test("short links and invitations have a suffix")
    func suffixes() throws {
        #expect(try link("https://go.example.com/aB-_9?d=1").suffix == "aB-_9")
        #expect(try link("https://go.example.com/aB-_9?d=1").isDebug)
        #expect(try link("https://go.example.com/aB%2D_9/").suffix == "aB-_9")
        #expect(try link("https://go.example.com/i/abc").suffix == "i/abc")
        #expect(try link("http://localhost:8080/abc").prefix.port == 8080)
    }

    @Test(
        "what is none of the project's links is refused",
        arguments: [
            "", "link", "https://", "https:///x", "ftp://go.example.com/?link=x", "//go.example.com/?link=x",
            "https://go.example.com@evil.example/?link=x", "https://evil@go.example.com/?link=x",
            "https://go.example.com.evil.example/?link=x", "https://evilgo.example.com/?link=x",
            "https://go.example.com\\@evil.example/?link=x", "https://links.example.com/?link=x",
            "https://links.example.com/promotion?link=x", "https://go.example.com:x/?link=x",
            "https://go.example.com/a/b", "https://go.example.com/a%2Fb",
            "https://go.example.com/a.b",
            "https://go.example.com/?link=x\r\nX: y", "https://go.example.com\u{301}/?link=x",
            " https://go.example.com/?link=x",
        ])
    func strangers(url: String) {
        let problem = #expect(throws: LinkProblem.self) { try link(url) }
        #expect(problem?.field == "longDynamicLink")
    }

    @Test("a combining mark behind a separator hides it from nothing")
    func combiningMarks() throws {
        let link = try link("https://go.example.com/?\u{301}&link=https://a.example/")
        #expect(link.parameters[.link] == "https://a.example/")
        #expect(link.suffix == nil)
    }

    @Test("what is odd is warned of, and the link works")
    func warnings() throws {
        let link = try link("https://go.example.com/?link=x&link=y&link=z&zzz=1&zzz=2&b&d=2&ad=x#frag")
        #expect(link.unknownNames == ["zzz", "b"])
        #expect(link.parameters.query == "link=x")
        #expect(!link.isDebug)
        #expect(
            link.warnings.map(\.code) == [
                .unrecognizedParameter, .badDebugParameter, .badAdParameter, .linkWithFragments,
            ])
        #expect(try self.link("https://go.example.com/?link=x&ad=1").warnings.map(\.code) == [.deprecatedParameter])
    }

    @Test("a link of 8 KB and more is warned of, and unknown names are told of up to a number")
    func limits() throws {
        let long = try link("https://go.example.com/?link=" + String(repeating: "x", count: 8_192))
        #expect(long.warnings.map(\.code) == [.linkTooLong])
        let many = try link("https://go.example.com/?" + (0..<500).map { "n\($0)=1" }.joined(separator: "&"))
        #expect(many.unknownNames.count == LinkLimits.unknownNames)
    }

    @Test("a built link reads back the same")
    func building() throws {
        let parameters = LinkParameters(
            query: "link=https%3A%2F%2Fa.example%2F%3Fq%3D1%232&st=%3Cb%3E&apn=com.example.app")
        let url = LongLink.url(prefix: SampleLinks.pathPrefix, parameters: parameters)
        #expect(url.hasPrefix("https://links.example.com/promo/?apn=com.example.app&link="))
        #expect(try link(url).parameters == parameters)
    }
}
