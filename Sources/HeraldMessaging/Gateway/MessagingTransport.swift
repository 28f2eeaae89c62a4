public import Foundation

/// Carries requests to the gateway. ``URLSessionMessagingTransport`` is the usual one.
public protocol MessagingTransport: Sendable {
    /// Sends a request and answers what came back, whatever its status; throws when there was no answer.
    func send(_ request: MessagingHTTPRequest) async throws -> MessagingHTTPResponse
}

/// A request to the gateway.
public struct MessagingHTTPRequest: Hashable, Sendable {
    /// The method, as `POST`.
    public var method: String
    /// The whole URL.
    public var url: URL
    /// The header fields.
    public var headers: [String: String]
    /// The body; `nil`: none.
    public var body: Data?

    /// Puts a request together.
    public init(method: String, url: URL, headers: [String: String], body: Data?) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What the gateway answered.
public struct MessagingHTTPResponse: Hashable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, their names in lower case.
    public var headers: [String: String]
    /// The body.
    public var body: Data

    /// Puts an answer together; names of header fields may be in any case.
    public init(status: Int, headers: [String: String] = [:], body: Data) {
        self.status = status
        self.headers = Dictionary(headers.map { ($0.lowercased(), $1) }, uniquingKeysWith: { $1 })
        self.body = body
    }
}
