import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport

/// Opens URLs of link and preview hosts at a gateway on another address, as a browser does, and follows no redirect.
///
/// Safe to share; ``shutdown()`` ends it.
final class LinkBrowser: Sendable {
    /// What asks.
    enum Agent: String, CaseIterable, Sendable {
        case desktop = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
        case iPhone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
    }

    /// What was answered.
    struct Page: Sendable {
        var status: Int
        var location: String?
        var text: String

        /// The first value of an attribute in the page, as a browser reads it.
        func attribute(_ name: String) -> String? {
            guard let start = text.firstRange(of: " \(name)=\"") ?? text.firstRange(of: "\n\(name)=\"") else {
                return nil
            }
            let value = text[start.upperBound...].prefix { $0 != "\"" }
            return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(
                String(value)
            ) { $0.replacing($1.0, with: $1.1) }
        }
    }

    private let client: HTTPClient

    init() {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // A port without a listener is not tried again: the next gateway has another.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = TimeAmount(.longerThanAnyTest)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutdown() async throws {
        try await client.shutdown()
    }

    /// Asks the gateway at `baseURL` for `url`, or posts a form to it.
    func open(
        _ url: String, at baseURL: String, as agent: Agent = .desktop, posting form: String? = nil
    ) async throws -> Page {
        guard let parts = url.firstMatch(of: /^https:\/\/([^\/?]+)(.*)$/) else {
            throw ChildProcessError("no URL: \(url)")
        }
        let path = String(parts.2)
        var request = HTTPClientRequest(url: baseURL + (path.hasPrefix("/") ? path : "/" + path))
        request.headers.add(name: "host", value: String(parts.1))
        request.headers.add(name: "user-agent", value: agent.rawValue)
        request.headers.add(name: "accept-language", value: "en-GB,en;q=0.9")
        if let form {
            request.method = .POST
            request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: form))
        }
        let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Page(
            status: Int(response.status.code), location: response.headers.first(name: "location"),
            text: String(buffer: body))
    }
}

extension GatewayUnderTest {
    /// Gives the project links that may lead to a.example, with preview pages on a host of their own.
    func addLinks() throws {
        let file = directory.file("projects/demo.yaml")
        let links = """

            links:
              prefixes: ["https://go.example.com"]
              preview: https://preview.example.com
              targets: [a.example]
            """
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try (text + links).write(toFile: file, atomically: true, encoding: .utf8)
    }
}
