import Foundation
import HeraldLinks
import Synchronization

/// A transport that answers what it is told to and keeps what it was asked.
final class LinkStub: LinkTransport {
    struct Request: Sendable {
        let url: String
        let headers: [String: String]
        let body: String
    }

    private let kept = Mutex<[Request]>([])
    private let answer: @Sendable (Request) throws -> LinkResponse

    var requests: [Request] { kept.withLock { $0 } }

    init(_ answer: @escaping @Sendable (Request) throws -> LinkResponse) { self.answer = answer }

    /// Answers each request the same.
    convenience init(_ status: Int, _ body: String) {
        self.init { _ in LinkResponse(status: status, body: Data(body.utf8)) }
    }

    /// Answers each request 200 with the same body.
    convenience init(_ body: String) { self.init(200, body) }

    /// Never answers.
    static func unreachable() -> LinkStub { LinkStub { _ in throw URLError(.cannotConnectToHost) } }

    func post(_ body: Data, to url: URL, headers: [String: String]) async throws -> LinkResponse {
        let request = Request(url: url.absoluteString, headers: headers, body: String(decoding: body, as: UTF8.self))
        kept.withLock { $0.append(request) }
        return try answer(request)
    }
}

/// Keeps in memory that the link of an install was asked for.
final class RecordStub: FirstLaunchRecord {
    private let state = Mutex(false)

    var isRetrieved: Bool { state.withLock { $0 } }

    func markRetrieved() { state.withLock { $0 = true } }
}

extension HeraldLinksOptions {
    /// The options of an app with one prefix on a host of its own, and one below a path.
    static func sample(apiKey: String = "hk_client") throws -> HeraldLinksOptions {
        HeraldLinksOptions(
            host: try url("https://push.example.com"), apiKey: apiKey, bundleID: "com.example.app",
            urlScheme: "example", customDomains: ["https://go.example.com", "https://www.example.com/link/"])
    }
}

extension DynamicLinks {
    static func sample(_ transport: LinkStub, record: RecordStub = RecordStub()) throws -> DynamicLinks {
        DynamicLinks(options: try .sample(), transport: transport, record: record)
    }
}

/// A URL out of a literal.
func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    return url
}
