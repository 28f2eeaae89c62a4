import Delivery
import FCMWire
import Hummingbird
import JSON
import PushModel
import Store
import Webhooks

/// What became of messages: our own resources beside FCM's.
enum ReportRoutes {
    static let all: [Route] = [
        .project(.get, "messages", .read, list),
        .project(.get, "messages/{message}", .read, get),
        .project(.get, "messages/{message}/deliveries", .read, deliveries),
        .project(.get, "registrations/{registration}/deliveries", .read, deliveriesToRegistration),
    ]

    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 50, maximum: 1000)
        let state = try query["filter"].map { text throws(FCMError) in try Filter<MessageState>("state", text).value }
        let (store, controller) = (call.services.store, call.services.controller)
        let page = try await store.reports(
            in: call.project.id, state: state, after: query["pageToken"], limit: size)
        let views = page.elements.map { report in
            ReportView.report(report, expectedEnd: controller.expectedEnd(of: report.message.id))
        }
        return answer("messages", views, page.nextCursor)
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        guard let id = MessageID(rawValue: try call.parameter("message")) else { throw FCMError(.notFound) }
        return try await call.report(of: id)
    }

    @Sendable private static func deliveries(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let outcome = try query["filter"].map { text throws(FCMError) in
            try Filter<LedgerOutcome>("outcome", text).value
        }
        let store = call.services.store
        guard let id = MessageID(rawValue: try call.parameter("message")),
            try await store.message(id, in: call.project.id) != nil
        else { throw FCMError(.notFound) }
        let page = try await store.deliveries(
            of: id, in: call.project.id, outcome: outcome, after: query["pageToken"], limit: size)
        let views = page.elements.map { ReportView.delivery($0, in: call.project.id) }
        return answer("deliveries", views, page.nextCursor)
    }

    /// Why a device got something or not: the newest first. A page may be short, or empty, and still have a next one.
    @Sendable private static func deliveriesToRegistration(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let store = call.services.store
        let id: RegistrationID
        switch RegistrationReference(rawValue: try call.parameter("registration")) {
        case .id(let named)?: id = named
        case .token(let token)?:
            guard let found = try await store.registration(token: token, in: call.project.id) else {
                throw FCMError(.notFound)
            }
            id = found.id
        case nil: throw FCMError.badRequest("name", "The registration is neither an installation id nor a token.")
        }
        let page = try await store.deliveries(to: id, in: call.project.id, after: query["pageToken"], limit: size)
        let views = page.elements.map { ReportView.delivery($0.delivery, of: $0.message, in: call.project.id) }
        return answer("deliveries", views, page.nextCursor)
    }

    private static func answer(_ name: String, _ elements: [JSONValue], _ nextCursor: String?) -> Response {
        var members: [JSONValue.Member] = [.init(name, .array(elements))]
        if let nextCursor { members.append(.init("nextPageToken", .string(nextCursor))) }
        return Response(json: .object(members))
    }
}

extension ProjectCall {
    /// The report of one message: what lists show of it, what becomes of its blocks, and its links.
    func report(of id: MessageID) async throws -> Response {
        guard let report = try await services.store.report(id, in: project.id),
            let body = try await services.store.message(id, in: project.id)?.body,
            case .object(let members) = ReportView.report(report, expectedEnd: services.controller.expectedEnd(of: id))
        else { throw FCMError(.notFound) }
        let links = try await links(of: id) + channel(of: report.message)
        guard !body.isRemoved else {
            return Response(json: .object(members + [.init("payloadRemoved", .bool(true))] + links))
        }
        // The one way it fails is that what is stored can't be read, which the error says.
        guard let content = try? FCMMessage.content(of: body) else {
            throw StoreError(.failed, "The store's content of a message is damaged.")
        }
        return Response(
            json: .object(members + [.init("blocks", ReportView.blocks(content, in: project))] + links))
    }
}

extension ProjectCall {
    /// The member for the channel that a message was published to; none for a message to devices, and for a channel that
    /// was deleted since.
    private func channel(of message: MessageSummary) async throws -> [JSONValue.Member] {
        guard case .registration(let id) = message.recipient, id.isOfChannel,
            let channel = try await services.store.channel(of: id, in: project.id)
        else { return [] }
        return [.init("channel", ChannelView.channel(channel))]
    }

    /// The member for links that are tracked; none where there are none.
    private func links(of id: MessageID) async throws -> [JSONValue.Member] {
        guard let settings = project.links else { return [] }
        let links = try await services.store.links(of: id, in: project.id)
        return links.isEmpty ? [] : [.init("links", .array(links.map { ReportView.link($0, settings) }))]
    }
}

/// `filter` of a list: `outcome = "REJECTED"`, spaces, quotes and case being free (AIP-160's simplest).
struct Filter<Value: RawRepresentable & CaseIterable> where Value.RawValue == String {
    /// What is asked for.
    let value: Value

    /// Reads a filter on `field`.
    init(_ field: String, _ filter: String) throws(FCMError) {
        let values = Value.allCases
        if let match = filter.wholeMatch(of: /\s*([A-Za-z]+)\s*=\s*("?)([A-Za-z]+)("?)\s*/), match.1 == field,
            match.2 == match.4,
            let value = values.first(where: { $0.rawValue.uppercased() == match.3.uppercased() })
        {
            self.value = value
            return
        }
        let names = values.map { $0.rawValue.uppercased() }.joined(separator: ", ")
        throw .badRequest(
            "filter", "The filter '\(filter.excerpt)' is not of the form \(field) = VALUE, one of \(names).")
    }
}

/// Reports as callers see them.
enum ReportView {
    /// A message's report.
    ///
    /// - Parameter expectedEnd: when its fan-out will be through, as far as that is known.
    static func report(_ report: DeliveryReport, expectedEnd: Timestamp?) -> JSONValue {
        let message = report.message
        var members: [JSONValue.Member] = [
            .init("name", .string("projects/\(message.project)/messages/\(message.id)")),
            .init("target", target(message)),
        ]
        if let label = message.facts.label { members.append(.init("label", .string(label.rawValue))) }
        if let credential = message.facts.credential { members.append(.init("credential", credential.json)) }
        members += [
            .init("state", .string(report.state.rawValue)),
            .init("acceptTime", .string(message.acceptedAt.rfc3339)),
            .init("expireTime", .string(message.expiresAt.rfc3339)),
        ]
        if let completedAt = report.completedAt {
            members.append(.init("completeTime", .string(completedAt.rfc3339)))
        } else if let expectedEnd {
            members.append(.init("expectedEndTime", .string(expectedEnd.rfc3339)))
        }
        if let pace = pace(message.options) { members.append(.init("pace", pace)) }
        members += [
            .init("audience", .integer(message.audience))
        ]
        members += ReportFigures.figures(report)
        return .object(members)
    }

    /// What becomes of a message's blocks: they are sent where the project reaches the platform; blocks for platforms
    /// without an app were checked and are kept.
    static func blocks(_ content: FCMMessage, in project: Project) -> JSONValue {
        var members: [JSONValue.Member] = []
        if project.reaches(.apple) {
            members.append(.init("apple", .string("SENT")))
        } else if content.hasAppleBlock {
            members.append(.init("apple", .string("NOT_APPLICABLE")))
        }
        for block in FCMMessage.OtherPlatform.allCases {
            let platform: Platform =
                switch block {
                case .android: .android
                case .webpush: .web
                }
            if project.reaches(platform) {
                members.append(.init(block.rawValue, .string("SENT")))
            } else if content.otherPlatforms.contains(block) {
                members.append(.init(block.rawValue, .string("NOT_APPLICABLE")))
            }
        }
        return .object(members)
    }

    /// One delivery of a message.
    ///
    /// - Parameter message: the message, where the deliveries of several are listed.
    static func delivery(_ delivery: DeliveryRecord, of message: MessageID? = nil, in project: ProjectID) -> JSONValue {
        var members: [JSONValue.Member] = []
        if let message { members.append(.init("message", .string("projects/\(project)/messages/\(message)"))) }
        members += [
            .init("registration", .string("projects/\(project)/registrations/\(delivery.registration)")),
            .init("app", .string(delivery.app.id.rawValue)),
        ]
        members += delivery.app.platform.members
        members += [
            .init("outcome", .string(delivery.outcome?.rawValue.uppercased() ?? "IN_FLIGHT"))
        ]
        if let reason = delivery.reason ?? delivery.history.lastCause {
            members.append(.init("reason", .string(reason)))
        }
        members += [
            .init("attempts", .integer(delivery.history.attempts)),
            .init("unknownAttempts", .integer(delivery.history.unknownAttempts)),
        ]
        if let endedAt = delivery.endedAt { members.append(.init("endTime", .string(endedAt.rfc3339))) }
        if let latency = delivery.latencyMilliseconds {
            members.append(.init("latency", .string(durationText(milliseconds: latency))))
        }
        if let id = delivery.pushID { members.append(.init("apnsId", .string(id.rawValue))) }
        if let acceptance = delivery.upstreamID.flatMap(Acceptance.init(text:)) {
            if let id = acceptance.id { members.append(.init("upstreamId", .string(id))) }
            if let seconds = acceptance.seconds { members.append(.init("grantedTtl", .string("\(seconds)s"))) }
        }
        if !delivery.receipts.isEmpty {
            members.append(.init("receipts", ReportFigures.receipts(delivery.receipts) { .string($0.rfc3339) }))
        }
        return .object(members)
    }

    private static func target(_ message: MessageSummary) -> JSONValue {
        switch message.recipient {
        case .registration(let id) where id.isOfChannel:
            .object([.init("channel", .string(id.rawValue))])
        case .registration(let id):
            .object([.init("registration", .string("projects/\(message.project)/registrations/\(id)"))])
        case .topic(let topic):
            .object([.init("topic", .string(topic.rawValue))])
        case .condition(let condition): .object([.init("condition", .string(condition.text))])
        case .list(let count): .object([.init("registrations", .integer(count))])
        case .user(let user, _): .object([.init("user", .string(user.rawValue))])
        }
    }

    /// The `delivery` options of the request that set the pace; `nil`: as fast as possible.
    private static func pace(_ options: DeliveryOptions) -> JSONValue? {
        if let rate = options.rate { return .object([.init("rate", .integer(rate))]) }
        return options.finishBy.map { .object([.init("finishBy", .string($0.rfc3339))]) }
    }
}
