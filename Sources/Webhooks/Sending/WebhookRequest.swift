package import PushModel
package import Store

/// One request to an endpoint.
package struct WebhookRequest: Sendable {
    /// The endpoint: connections are kept for each of them.
    package var endpoint: WebhookID
    /// Whose it is.
    package var project: ProjectID
    /// Where it goes.
    package var url: String
    /// Header fields beside those of every request.
    package var headers: [(name: String, value: String)]
    /// What is sent, and signed.
    package var body: [UInt8]

    /// Puts a request together.
    package init(
        endpoint: WebhookID, project: ProjectID, url: String, headers: [(name: String, value: String)], body: [UInt8]
    ) {
        self.endpoint = endpoint
        self.project = project
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What came of a request.
package struct WebhookAnswer: Hashable, Sendable {
    /// Why a request failed, in a word of few.
    package enum Failure: String, Hashable, Sendable, CaseIterable {
        /// The URL, or where it leads, is not allowed.
        case refused
        /// The host's name has no address.
        case lookup
        /// No connection.
        case connect
        /// No TLS connection: the certificate is not to be trusted, or is of another name.
        case tls
        /// No answer in time, or no end of it.
        case timeout
        /// The connection broke.
        case reset
        /// An answer that is no HTTP.
        case notHTTP
        /// 3xx: another URL is never asked.
        case redirect
        /// 410: there will never be anything.
        case gone
        /// Another status than 2xx.
        case status
        /// The endpoint's secret can't sign.
        case secret
    }

    /// The status; `nil`: there was no answer.
    package var status: Int?
    /// `Retry-After`, as far as it can be read.
    package var retryAfter: Duration?
    /// The beginning of the answer's body.
    package var text: String?
    /// Why it failed; `nil`: it was taken.
    package var failure: Failure?
    /// More of it, in words.
    package var detail: String?

    /// An answer with a status.
    package init(status: Int, retryAfter: Duration? = nil, text: String? = nil) {
        self.status = status
        self.retryAfter = retryAfter
        self.text = text
        failure =
            switch status {
            case 200..<300: nil
            case 300..<400: .redirect
            case 410: .gone
            default: .status
            }
    }

    /// No answer.
    package init(_ failure: Failure, _ detail: String) {
        self.failure = failure
        self.detail = detail
    }

    /// The rest that counts: only of those that say that they have too much to do.
    var honouredRest: Duration? {
        guard let status, [429, 502, 503, 504].contains(status) else { return nil }
        return retryAfter
    }
}

/// Makes requests to endpoints.
package protocol WebhookTransport: Sendable {
    /// Makes one request; it ends within ``HTTPWebhookTransport/timeout``, or when the task is cancelled.
    func send(_ request: WebhookRequest) async -> WebhookAnswer

    /// Closes what is kept for other endpoints than these: they are gone.
    func keep(_ endpoints: Set<WebhookID>) async
}
