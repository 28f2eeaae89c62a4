public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Carries requests by `URLSession`.
public struct URLSessionTransport: LinkTransport {
    private let session: URLSession
    private let timeout: TimeInterval

    /// Makes a transport; a request ends after 30 seconds without a byte.
    public init(session: URLSession = .shared, timeout: TimeInterval = 30) {
        self.session = session
        self.timeout = timeout
    }

    /// Posts the body by the session.
    public func post(_ body: Data, to url: URL, headers: [String: String]) async throws -> LinkResponse {
        var request = URLRequest(url: url, timeoutInterval: timeout)
        request.httpMethod = "POST"
        request.httpBody = body
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode else { throw URLError(.badServerResponse) }
        return LinkResponse(status: status, body: data)
    }
}
