public import Foundation

/// Carries requests to the gateway. ``URLSessionTransport`` is the usual one; a server may bring its own HTTP client.
public protocol LinkTransport: Sendable {
    /// Posts a body of JSON and answers what came back, whatever its status; throws when there was no answer.
    func post(_ body: Data, to url: URL, headers: [String: String]) async throws -> LinkResponse
}

/// What the gateway answered.
public struct LinkResponse: Hashable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The body.
    public var body: Data

    /// Puts an answer together.
    public init(status: Int, body: Data) {
        self.status = status
        self.body = body
    }
}
