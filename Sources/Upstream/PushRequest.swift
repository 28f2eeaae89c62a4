import HTTP2Client
package import PushModel

/// The requests of a batch, in the client's own form: it takes them as they are.
package struct PushRequests: Sendable {
    private(set) var requests: [Request] = []
    /// The places in the batch of pushes that no request can be made of, and why.
    private(set) var refused: [Int: Refusal] = [:]

    /// None yet, room for `count`.
    package init(capacity count: Int) {
        requests.reserveCapacity(count)
    }

    /// Leaves the push at a place of the batch out: it ends with this refusal, and nothing of it is sent.
    package mutating func refuse(_ index: Int, because refusal: Refusal) {
        refused[index] = refusal
    }

    /// Adds the request of one push.
    ///
    /// - Parameters:
    ///   - head: what it shares with others; build one for a batch.
    ///   - path: `:path`.
    ///   - fields: the header fields of this request alone; they follow those of the head.
    ///   - isUrgent: whether it goes before those that are not.
    package mutating func append(
        head: PushRequestHead, path: String, fields: PushRequestFields, body: [UInt8], isUrgent: Bool
    ) {
        append(Request(head: head.head, path: path, fields: fields.fields, body: body, isUrgent: isUrgent))
    }

    /// Adds a request that was built before.
    mutating func append(_ request: Request) {
        requests.append(request)
    }
}

/// What requests have in common: the method POST and header fields. `authorization` is no part of it: the connection
/// adds the token in force when the stream is opened.
package struct PushRequestHead: Sendable {
    let head: RequestHead

    /// Puts a head together.
    package init(_ fields: PushRequestFields) {
        head = RequestHead(method: "POST", fields: fields.fields)
    }
}

/// Header fields in the form that the client takes.
package struct PushRequestFields: Sendable {
    /// What HPACK keeps of a field in its table (RFC 7541 §6.2).
    package enum Indexing: Sendable {
        /// Name and value: for what repeats.
        case always
        /// The name, from the first field on a connection: for values that differ.
        case name
    }

    private(set) var fields: [HeaderField] = []

    /// No fields.
    package init() {}

    /// One field.
    package init(_ name: String, _ value: String, indexing: Indexing = .always) {
        append(name, value, indexing: indexing)
    }

    /// Adds a field; the name in lower case.
    package mutating func append(_ name: String, _ value: String, indexing: Indexing = .always) {
        let kept: HeaderField.Indexing =
            switch indexing {
            case .always: .always
            case .name: .first
            }
        fields.append(HeaderField(name, value, indexing: kept))
    }
}
