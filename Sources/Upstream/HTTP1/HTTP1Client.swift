package import PushModel

/// A client of HTTP/1.1, for services without HTTP/2. Safe to share.
package protocol HTTP1Client: Sendable {
    /// Prepares connections to one place; nothing is dialed before the first request.
    func open(_ place: HTTP1Place) -> any HTTP1Connections
}

/// The connections to one place. Safe to share.
package protocol HTTP1Connections: Sendable {
    /// Sends a request and waits for its end: half a minute at most, or until the task is cancelled.
    func send(_ request: HTTP1Request) async -> HTTP1Answer

    /// Closes them. No request is under way or follows.
    func close() async
}

/// Where requests go.
package struct HTTP1Place: Hashable, Sendable {
    /// The name for SNI, certificate check and `Host`.
    package var host: String
    /// TCP port.
    package var port: Int
    /// The address of ``host`` that was checked: the only one that is dialed.
    package var address: String
    /// The authorities to trust; `nil`: the system's.
    package var trustFile: String?
    /// The most connections at a time.
    package var connectionLimit: Int

    /// Names a place.
    package init(host: String, port: Int, address: String, trustFile: String?, connectionLimit: Int) {
        self.host = host
        self.port = port
        self.address = address
        self.trustFile = trustFile
        self.connectionLimit = connectionLimit
    }
}

/// A request; its body's length is added to its fields.
package struct HTTP1Request: Sendable {
    /// The method.
    package var method: String
    /// Path and query.
    package var path: String
    /// The header fields, names in lower case.
    package var fields: [(name: String, value: String)]
    /// The body.
    package var body: [UInt8]
}

/// How a request ended.
package enum HTTP1Answer: Sendable {
    /// An answer came; its body is cut off after 4096 bytes.
    case answered(status: Int, fields: [(name: String, value: String)], body: [UInt8])
    /// It provably never left: why, and in words.
    case notSent(TransportCause, String)
    /// It left, or may have, and no answer came.
    case unanswered(TransportCause, String)
}
