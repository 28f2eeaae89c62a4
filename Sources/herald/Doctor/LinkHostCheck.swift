import AsyncHTTPClient
import JSON
import Links
import NIOCore
import NIOHTTP1
import PushModel

/// Asks every link and preview host of the configuration for the files by which Apple's and Google's systems know whose links
/// it has: the answer shows whether name lookup, certificate and what stands in front of the gateway are right.
///
/// Only hosts of the configuration are asked, and no redirect is followed: neither do Apple and Google.
struct LinkHostCheck {
    let projects: [Project]
    /// How long one answer may take.
    let limit: Duration

    /// Largest file in bytes, which is also Apple's limit.
    private static let fileLimitBytes = 128 << 10

    /// Asks all hosts, one after the other.
    func findings() async -> [Finding] {
        guard projects.contains(where: { $0.links != nil }) else { return [] }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(limit)
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        var findings: [Finding] = []
        for origin in origins { findings += await self.findings(of: origin, client) }
        do {
            try await client.shutdown()
        } catch {
            // All answers are there.
        }
        return findings
    }

    /// A host with the URL that it is reached under.
    private struct Origin: Hashable {
        let url: String
        let host: String
        let isPreview: Bool
    }

    private var origins: [Origin] {
        var origins: [Origin] = []
        for links in projects.compactMap(\.links) {
            let hosts = links.prefixes.map { ($0, false) } + (links.preview.map { [($0, true)] } ?? [])
            for (prefix, isPreview) in hosts {
                let root = LinkPrefix(scheme: prefix.scheme, host: prefix.host, port: prefix.port)
                let origin = Origin(url: root.url, host: prefix.host, isPreview: isPreview)
                if !origins.contains(where: { $0.host == origin.host }) { origins.append(origin) }
            }
        }
        return origins
    }

    private func findings(of origin: Origin, _ client: HTTPClient) async -> [Finding] {
        if origin.isPreview {
            // Any answer of the gateway's will do.
            return [await finding(of: origin, "/robots.txt", client) { $0.isEmpty ? "an empty answer" : nil }]
        }
        let files = AssociationFiles(host: origin.host, projects: projects)
        let apple = await finding(of: origin, "/.well-known/apple-app-site-association", client) {
            Self.difference($0, files.apple)
        }
        guard apple.grade != .bad else { return [apple] }
        return [
            apple,
            await finding(of: origin, "/.well-known/assetlinks.json", client) { Self.difference($0, files.android) },
        ]
    }

    private static func difference(_ bytes: [UInt8], _ file: JSONValue) -> String? {
        // What is no JSON differs.
        (try? JSONValue(parsing: bytes)) == file
            ? nil : "is not what this configuration says; is another gateway or a site in front, or one to be reloaded?"
    }

    private func finding(
        of origin: Origin, _ path: String, _ client: HTTPClient, _ problem: ([UInt8]) -> String?
    ) async -> Finding {
        let subject = "\(origin.host) links"
        let response: HTTPClientResponse
        let bytes: [UInt8]
        do {
            response = try await client.execute(HTTPClientRequest(url: origin.url + path), timeout: TimeAmount(limit))
            bytes = Array(try await response.body.collect(upTo: Self.fileLimitBytes).readableBytesView)
        } catch {
            return Finding(.bad, subject, "\(origin.url)\(path) can't be read: \(GatewayClient.reason(error))")
        }
        guard response.status == .ok else {
            return Finding(.bad, subject, "\(origin.url)\(path) answers \(response.status.code), not 200")
        }
        if path.hasPrefix("/.well-known/"),
            response.headers.first(name: "content-type")?.hasPrefix("application/json") != true
        {
            return Finding(.bad, subject, "\(origin.url)\(path) is not application/json")
        }
        if let problem = problem(bytes) { return Finding(.warning, subject, "\(origin.url)\(path) \(problem)") }
        return Finding(.good, subject, "\(origin.url)\(path) is answered as configured")
    }
}
