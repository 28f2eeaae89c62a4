import Foundation
import HeraldLinks
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(1)))
struct TransportTests {
    /// Answers 503 with what was asked, instead of the network.
    private final class Echo: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }

        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 503, httpVersion: nil, headerFields: nil)
            else { return }
            let asked = [
                request.httpMethod ?? "", url.absoluteString, request.value(forHTTPHeaderField: "X-Goog-Api-Key") ?? "",
                "\(request.timeoutInterval)",
            ]
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data(asked.joined(separator: " ").utf8))
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    @Test("URLSession posts, and an answer of any status is one")
    func post() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Echo.self]
        let transport = URLSessionTransport(session: URLSession(configuration: configuration), timeout: 7)
        let answer = try await transport.post(
            Data("{}".utf8), to: url("https://push.example.com/v1/shortLinks"), headers: ["X-Goog-Api-Key": "hk_1"])
        #expect(answer.status == 503)
        #expect(String(decoding: answer.body, as: UTF8.self) == "POST https://push.example.com/v1/shortLinks hk_1 7.0")
    }
}
