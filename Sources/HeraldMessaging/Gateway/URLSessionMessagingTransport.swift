public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Carries requests by `URLSession`.
public struct URLSessionMessagingTransport: MessagingTransport {
    private let session: URLSession
    private let timeout: TimeInterval

    /// Makes a transport; a request ends after 30 seconds without a byte.
    public init(session: URLSession = .shared, timeout: TimeInterval = 30) {
        self.session = session
        self.timeout = timeout
    }

    /// Sends the request by the session.
    public func send(_ request: MessagingHTTPRequest) async throws -> MessagingHTTPResponse {
        var sent = URLRequest(url: request.url, timeoutInterval: timeout)
        sent.httpMethod = request.method
        sent.httpBody = request.body
        sent.cachePolicy = .reloadIgnoringLocalCacheData
        for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: sent)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        return MessagingHTTPResponse(status: response.statusCode, headers: headers, body: data)
    }
}
