/// A request to be sent, knowing nothing of what it means.
package struct Request: Sendable {
    /// Method and header fields that it has in common with others.
    package var head: RequestHead
    /// `:path`; never indexed by HPACK.
    package var path: String
    /// The header fields of this request alone, names in lower case, in order; they follow those of the head.
    package var fields: [HeaderField]
    /// The body; shared, not copied, until it goes into a frame.
    package var body: [UInt8]
    /// Urgent requests never wait behind the others: they have a queue of their own, which is served first, and streams
    /// that no others use.
    package var isUrgent: Bool

    /// Puts a request together from a shared head and what is its own.
    package init(head: RequestHead, path: String, fields: [HeaderField], body: [UInt8], isUrgent: Bool) {
        self.head = head
        self.path = path
        self.fields = fields
        self.body = body
        self.isUrgent = isUrgent
    }

    /// Puts a request with a head of its own together.
    package init(method: String, path: String, headers: [HeaderField], body: [UInt8], isUrgent: Bool) {
        self.init(
            head: RequestHead(method: method, fields: headers), path: path, fields: [], body: body, isUrgent: isUrgent)
    }

    /// `:method`.
    package var method: String { head.method }
    /// All header fields in order, those of the head first. `:scheme` and `:authority` come from the pool.
    package var headers: [HeaderField] { head.fields + fields }
}

/// A header field.
package struct HeaderField: Sendable {
    /// The name, in lower case.
    package var name: String
    /// The value.
    package var value: String
    /// What HPACK keeps of it in its table.
    package var indexing: Indexing

    /// What HPACK keeps of a field in its table (RFC 7541 §6.2), which is small: what is kept evicts something older.
    package enum Indexing: Sendable, Hashable {
        /// Name and value: for what repeats.
        case always
        /// The first field of this name on a connection, so that the later ones need not spell the name; never the later
        /// values: for values that differ.
        case first
        /// Nothing, on the way neither (§7.1.3): for secrets.
        case never
    }

    /// Puts a field together.
    package init(_ name: String, _ value: String, indexing: Indexing = .always) {
        self.name = name
        self.value = value
        self.indexing = indexing
    }
}

/// An answer.
package struct Response: Sendable {
    /// The status, 200 to 599.
    package var status: Int
    /// Header fields as they came, pseudo fields left out.
    package var headers: [HeaderField]
    /// The body, cut off after ``PoolConfiguration/responseLimitBytes``.
    package var body: [UInt8]

    /// Puts an answer together.
    package init(status: Int, headers: [HeaderField], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first field `name` (lower case).
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// How one request ended. Each ends exactly once.
package enum Exchange: Sendable {
    /// An answer came, whatever its status.
    case answered(Response)
    /// The peer provably did not process it: it never left, was refused, or lies beyond GOAWAY's last stream.
    case notSent(TransportFailure)
    /// It left, or may have, and no answer came.
    case unanswered(TransportFailure)
}

/// Why there is no answer.
package struct TransportFailure: Error, Sendable, Hashable {
    /// The kind, for decisions and metric labels.
    package let kind: Kind
    /// Details in words, for logs: addresses, OpenSSL's error stack, GOAWAY's debug data.
    package let message: String
    /// Whether the peer answered the handshake, and does not speak HTTP/2.
    package let lacksHTTP2: Bool

    /// The kinds of failure.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Name lookup, TCP or proxy failed.
        case connectFailed = "connect_failed"
        /// The TLS handshake failed, the certificate did not verify or ALPN did not give h2.
        case tlsFailed = "tls_failed"
        /// The connection broke or was closed.
        case connectionLost = "connection_lost"
        /// The peer refused the stream.
        case refused
        /// The peer reset the stream with another code.
        case reset
        /// The deadline of the connection attempt or of the stream passed.
        case timedOut = "timed_out"
        /// The pool or the engine is closing.
        case shutdown
        /// The peer broke HTTP/2.
        case protocolError = "protocol_error"
        /// Its submitter did not want it any more when it still waited for a stream.
        case withdrawn
    }

    /// Describes a failure.
    package init(_ kind: Kind, _ message: String, lacksHTTP2: Bool = false) {
        self.lacksHTTP2 = lacksHTTP2
        self.kind = kind
        self.message = message
    }
}
