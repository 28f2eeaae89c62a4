import HTTPTypes
import Links
import Testing

@testable import GatewayAPI

/// A request over HTTP/2 is for one host: its `:authority`, which a `Host` beside it must not contradict (RFC 9113 §8.3.1).
@Suite(.timeLimit(.minutes(2)))
struct LinkAuthorityTests {
    private static let host = HTTPField.Name("Host")!

    /// A short link, and its URL on another host.
    private func link(_ gateway: LinkGateway) async throws -> (here: String, elsewhere: String) {
        let url = try await gateway.shorten("https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&efr=1")
        return (url, url.replacing("go.example.com", with: "push.example.com"))
    }

    @Test(
        "a link is not opened by a request that names two hosts",
        arguments: [
            (true, "push.example.com"), (true, "preview.example.com"), (true, "go.example.com:8443"), (true, ""),
            (false, "go.example.com"), (false, "preview.example.com"),
        ])
    func contradiction(isLinkHost: Bool, field: String) async throws {
        let gateway = try await LinkGateway()
        let link = try await link(gateway)
        let answer = try await gateway.open(
            isLinkHost ? link.here : link.elsewhere, headers: [Self.host: field])
        #expect(answer.status == 400 && answer.headers[.location] == nil, "\(answer.text)")
        #expect(answer.text.contains(#""field":"Host""#), "\(answer.text)")
        #expect(gateway.traffic.events.isEmpty)
    }

    @Test("the API is not reached on a link host by a Host of its own, nor a link host by one of the API")
    func routes() async throws {
        let gateway = try await LinkGateway()
        for (url, field) in [
            ("https://go.example.com/healthz", "push.example.com"),
            ("https://push.example.com/healthz", "go.example.com"),
            ("https://preview.example.com/healthz", "push.example.com"),
        ] {
            #expect(try await gateway.open(url, headers: [Self.host: field]).status == 400, "\(url) \(field)")
        }
        #expect(try await gateway.open("https://go.example.com/healthz").status == 404)
        #expect(try await gateway.open("https://push.example.com/healthz").status == 200)
    }

    @Test("a Host that says the same is no contradiction")
    func agreement() async throws {
        let gateway = try await LinkGateway()
        let link = try await link(gateway).here
        let answer = try await gateway.open(link, headers: [Self.host: "go.example.com"])
        #expect(answer.status == 302 && answer.headers[.location] == "https://a.example/x")
    }
}
