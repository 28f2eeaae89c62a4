import HTTP2Client
package import PushModel

/// A request that is no push, such as one to a service's management.
package struct ServiceRequest: Sendable {
    /// `:method`.
    package var method: String
    /// `:path`.
    package var path: String
    /// The other header fields, names in lower case; `authorization` is added from the token of the credential.
    package var fields: [(name: String, value: String)]
    /// The body.
    package var body: [UInt8]

    /// Puts a request together.
    package init(_ method: String, _ path: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }
}

/// What became of a ``ServiceRequest``: a value, whatever happened.
package enum ServiceAnswer: Sendable {
    /// The service answered, with any status.
    case answered(ServiceResponse)
    /// Provably not processed.
    case notSent(TransportCause)
    /// Sent, or perhaps, and no answer came.
    case unknown(TransportCause)
}

/// An answer of a service.
package struct ServiceResponse: Sendable {
    /// The status, 200 to 599.
    package var status: Int
    /// The body, cut off after the limit of its pool.
    package var body: [UInt8]
    private let response: Response

    init(_ response: Response) {
        status = response.status
        body = response.body
        self.response = response
    }

    /// The value of the first field `name` (lower case), of those that are kept.
    package func header(_ name: String) -> String? { response.header(name) }

    /// How long the service wants to be left alone.
    package func retryAfter(at now: Timestamp) -> Duration? { Answer.pause(of: response, at: now) }

    /// How far this machine's clock is ahead of the service's (negative: behind), to the second; `nil`: the answer does not
    /// say.
    package func clockSkew(at now: Timestamp) -> Duration? {
        header("date").flatMap { HTTPDate.time(of: $0, now: now) }.map { .seconds(now.seconds - $0.seconds) }
    }
}

extension ServiceAnswer {
    init(_ exchange: Exchange) {
        switch exchange {
        case .answered(let response): self = .answered(ServiceResponse(response))
        case .notSent(let failure): self = .notSent(TransportCause(rawValue: failure.kind.rawValue))
        case .unanswered(let failure): self = .unknown(TransportCause(rawValue: failure.kind.rawValue))
        }
    }
}

extension RequestPool {
    /// Sends one request and waits for its end, which comes within the pool's deadlines.
    func exchange(_ request: Request) async -> Exchange {
        await withCheckedContinuation { continuation in
            // A bridge from the pool's callback: it is called exactly once with the one request, whatever happens.
            Task {
                await submit([request], isWanted: nil) { completions in
                    for completion in completions { continuation.resume(returning: completion.exchange) }
                }
            }
        }
    }
}
