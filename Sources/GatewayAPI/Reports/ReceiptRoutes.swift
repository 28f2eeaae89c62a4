import Hummingbird
import JSON
import PushModel
import Store

/// What devices report of messages: ours in JSON, and FCM's client events as its SDKs log them (fcm.md §5.2).
enum ReceiptRoutes {
    static let all: [Route] = [
        // Room for a thousand.
        .project(.post, "receipts", .receipts, create).limited(toBytes: 512 << 10)
    ]

    /// An item of a list that names no delivery to the registration, or is no receipt, gets an error of its own; the others
    /// are kept: devices would send all of them again. An item that was kept before is answered as the first time.
    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let body = try ReceiptBody(await call.json(), project: call.project, at: call.now)
        let (registration, ids) = try await reporter(body, call)
        try call.checkRate(of: registration.id)
        let receipts = body.items.compactMap { $0.receipt(of: ids) }
        let kept = try await call.services.store.keep(
            receipts, of: registration.key, in: call.project.id, at: call.now)
        var rest = kept.makeIterator()
        let results = body.items.map { item in
            guard item.receipt(of: ids) != nil else {
                return Self.view(item.isWellFormed ? .notFound : .invalidArgument)
            }
            return Self.view(rest.next() == true ? nil : .notFound)
        }
        var members: [JSONValue.Member] = [.init("results", .array(results))]
        if body.isLog { members.append(.init("nextRequestWaitMillis", .string("60000"))) }
        return Response(json: .object(members))
    }

    /// Whose receipts they are: the device proves with its installation's auth token that it is its own, or, if no
    /// installation made it, with the registration's token. After a change of user an installation keeps a FID that its registration does not have: items
    /// may name either.
    private static func reporter(
        _ body: ReceiptBody, _ call: ProjectCall
    ) async throws -> (registration: Registration, ids: Set<RegistrationID>) {
        let found: Registration?
        var ids: Set<RegistrationID> = []
        if let token = body.registration {
            found = try await call.services.store.registration(token: token, in: call.project.id)
            if let found { try await call.checkOwnership(of: found) }
        } else if let installation = try await call.installation() {
            found = try await call.registration(of: installation)
            ids.insert(installation.id)
        } else {
            throw FCMError.badRequest(
                "registration",
                "The registration is missing: its token, or the installation's auth token in "
                    + "X-Goog-Firebase-Installations-Auth.")
        }
        guard let found else { throw FCMError(.notFound) }
        ids.insert(found.id)
        return (found, ids)
    }

    private static func view(_ error: ItemError?) -> JSONValue {
        .object(error.map { [.init("error", .string($0.rawValue))] } ?? [])
    }
}

/// The body of a request with receipts, in either form.
struct ReceiptBody: Sendable {
    /// One thing that a device reports.
    struct Item: Sendable {
        /// `nil`: it is of another project, or no receipt at all.
        var receipt: Receipt?
        /// The install that it says it is of; `nil`: it does not say.
        var installation: String?
        /// Whether it is a receipt.
        var isWellFormed = true

        /// The receipt, if it is one of the install with these ids.
        func receipt(of ids: Set<RegistrationID>) -> Receipt? {
            guard let installation else { return receipt }
            return ids.contains { $0.rawValue == installation } ? receipt : nil
        }
    }

    /// As many come at once at most.
    static let limit = 1000

    /// The registration's token; `nil`: the installation proves itself.
    let registration: RegistrationToken?
    /// What is reported.
    let items: [Item]
    /// Whether it is FCM's log of client events.
    let isLog: Bool

    /// Decodes a body: `{"registration", "receipts": [{"message", "kind", "time"}]}`, one receipt without the list, or
    /// `{"log_source", "log_event": […]}`.
    init(_ body: ObjectReader, project: Project, at now: Timestamp) throws(FCMError) {
        if let events = try body.objects("log_event") {
            isLog = true
            // Whatever else stands in the log is the SDKs' own matter.
            registration = try Self.registration(body)
            try Self.check(events.count, "log_event")
            items = try Self.map(events) { event throws(FCMError) in try ClientEvent(event, at: now).item(in: project) }
            return
        }
        isLog = false
        registration = try Self.registration(body)
        guard let receipts = try body.objects("receipts") else {
            try body.refuseUnknown(except: ["registration", "message", "kind", "time"])
            items = [try Self.item(body, project, now)]
            return
        }
        try body.refuseUnknown(except: ["registration", "receipts"])
        try Self.check(receipts.count, "receipts")
        items = try Self.map(receipts) { receipt throws(FCMError) in
            try receipt.refuseUnknown(except: ["message", "kind", "time"])
            guard try Self.isWellFormed(receipt) else { return Item(isWellFormed: false) }
            return try Self.item(receipt, project, now)
        }
    }

    private static func registration(_ body: ObjectReader) throws(FCMError) -> RegistrationToken? {
        guard let text = try body.string("registration") else { return nil }
        guard let token = RegistrationToken(rawValue: text) else {
            throw .badRequest("registration", "The registration must be a registration token.")
        }
        return token
    }

    /// Whether message and kind, where they are texts, are such.
    private static func isWellFormed(_ receipt: ObjectReader) throws(FCMError) -> Bool {
        guard let name = try receipt.string("message"), let kind = try receipt.string("kind") else { return true }
        return ReceiptKind(rawValue: kind.lowercased()) != nil && isMessage(name)
    }

    /// Whether it has the form of a message's name or id.
    private static func isMessage(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let isName = parts.count == 4 && parts[0] == "projects" && parts[2] == "messages"
        return (parts.count == 1 || isName) && MessageID(rawValue: parts[parts.count - 1]) != nil
    }

    private static func check(_ count: Int, _ field: String) throws(FCMError) {
        guard (1...limit).contains(count) else {
            throw .badRequest(field, "\(field) must hold 1 to \(limit) elements.")
        }
    }

    private static func item(_ body: ObjectReader, _ project: Project, _ now: Timestamp) throws(FCMError) -> Item {
        guard let name = try body.string("message") else {
            throw .badRequest(body.fullPath("message"), "The message is missing: its name or its id.")
        }
        guard let kind = try body.string("kind"), let kind = ReceiptKind(rawValue: kind.lowercased()) else {
            let kinds = ReceiptKind.allCases.map { $0.rawValue.uppercased() }.joined(separator: ", ")
            throw .badRequest(body.fullPath("kind"), "The kind must be one of \(kinds).")
        }
        let time = try body.time("time") ?? now
        guard let message = try Self.message(name, in: project, field: body.fullPath("message")) else { return Item() }
        return Item(receipt: Receipt(message: message, kind: kind, time: time))
    }

    /// The id in `projects/<project>/messages/<id>`, or the id itself; `nil`: it is of another project.
    private static func message(
        _ name: String, in project: Project, field: String
    ) throws(FCMError) -> MessageID? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard isMessage(name), let id = MessageID(rawValue: parts[parts.count - 1]) else {
            throw .badRequest(field, "The message must be the name or the id of a message.")
        }
        if parts.count == 1 { return id }
        return parts[1] == project.id.rawValue || parts[1] == String(project.number) ? id : nil
    }

    private static func map(
        _ elements: [ObjectReader], _ transform: (ObjectReader) throws(FCMError) -> Item
    ) throws(FCMError) -> [Item] {
        var items: [Item] = []
        items.reserveCapacity(elements.count)
        for element in elements { items.append(try transform(element)) }
        return items
    }
}

/// One event of FCM's log: `source_extension_json_proto3` is text with a `messaging_client_event` in it. What is not
/// one is an error of its item only: SDKs would send the whole log again.
private struct ClientEvent {
    private let event: JSONValue?
    private let time: Timestamp

    init(_ log: ObjectReader, at now: Timestamp) throws(FCMError) {
        let milliseconds = Self.number(log.value("event_time_ms"))
        time = milliseconds.map { Timestamp(milliseconds: $0) } ?? now
        let text = try log.string("source_extension_json_proto3") ?? ""
        // What is no JSON is no event, and answered so.
        let parsed = try? JSONValue(parsing: text.utf8)
        event = parsed.flatMap { Self.member("messaging_client_event", of: $0) }
    }

    func item(in project: Project) -> ReceiptBody.Item {
        guard let event, let message = text("message_id", of: event).flatMap(MessageID.init(rawValue:)),
            let kind = kind(of: event)
        else { return ReceiptBody.Item(isWellFormed: false) }
        let number = Self.member("project_number", of: event).map { Self.number($0) }
        guard number == nil || number == .some(project.number) else { return ReceiptBody.Item() }
        return ReceiptBody.Item(
            receipt: Receipt(message: message, kind: kind, time: time), installation: text("instance_id", of: event))
    }

    private func kind(of event: JSONValue) -> ReceiptKind? {
        switch Self.member("event", of: event) {
        case .string("MESSAGE_DELIVERED"), .string("1"), .number("1"): .received
        case .string("MESSAGE_OPEN"), .string("2"), .number("2"): .opened
        case nil, .null, .bool, .number, .string, .array, .object: nil
        }
    }

    private func text(_ name: String, of event: JSONValue) -> String? {
        guard case .string(let text)? = Self.member(name, of: event), !text.isEmpty else { return nil }
        return text
    }

    /// A member in either spelling.
    private static func member(_ name: String, of value: JSONValue) -> JSONValue? {
        value[name] ?? value[ObjectReader.camelCase(name)]
    }

    private static func number(_ value: JSONValue?) -> Int64? {
        switch value {
        case .number(let text), .string(let text): Int64(text)
        case nil, .null, .bool, .array, .object: nil
        }
    }
}
