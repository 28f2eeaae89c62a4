import Hummingbird
import PushModel
import Store

/// What became of messages: our own resources beside FCM's.
enum ReportRoutes {
    static let all: [Route] = [
        .project(.get, "messages", .read, list),
        .project(.get, "messages/{message}", .read, get),
        .project(.get, "messages/{message}/deliveries", .read, deliveries),
    ]

    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.call.query
        let size = try query.pageSize(default: 50, maximum: 1000)
        let store = call.services.store
        let page = try await store.reports(in: call.project.id, after: query["pageToken"], limit: size)
        return answer("messages", page.elements.map(ReportView.report), page.nextCursor)
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        guard let id = MessageID(rawValue: try call.call.parameter("message")),
            let report = try await call.services.store.report(id, in: call.project.id)
        else { throw FCMError(.notFound) }
        return Response(json: ReportView.report(report))
    }

    @Sendable private static func deliveries(_ call: ProjectCall) async throws -> Response {
        let query = call.call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let outcome = try query["filter"].map(OutcomeFilter.outcome)
        let store = call.services.store
        guard let id = MessageID(rawValue: try call.call.parameter("message")),
            try await store.message(id, in: call.project.id) != nil
        else { throw FCMError(.notFound) }
        let page = try await store.deliveries(
            of: id, in: call.project.id, outcome: outcome, after: query["pageToken"], limit: size)
        let views = page.elements.map { ReportView.delivery($0, in: call.project.id) }
        return answer("deliveries", views, page.nextCursor)
    }

    private static func answer(_ name: String, _ elements: [JSONValue], _ nextCursor: String?) -> Response {
        var members: [JSONValue.Member] = [.init(name, .array(elements))]
        if let nextCursor { members.append(.init("nextPageToken", .string(nextCursor))) }
        return Response(json: .object(members))
    }
}

/// `filter` of a list of deliveries: `outcome = "REJECTED"`, spaces, quotes and case being free (AIP-160's simplest).
enum OutcomeFilter {
    /// The outcome that a filter asks for.
    static func outcome(_ filter: String) throws(FCMError) -> LedgerOutcome {
        guard let match = filter.wholeMatch(of: /\s*outcome\s*=\s*("?)([A-Za-z]+)("?)\s*/), match.1 == match.3,
            let outcome = LedgerOutcome(rawValue: match.2.lowercased())
        else {
            let values = LedgerOutcome.allCases.map { $0.rawValue.uppercased() }.joined(separator: ", ")
            throw .badRequest("filter", "The filter '\(filter)' is not of the form outcome = VALUE, one of \(values).")
        }
        return outcome
    }
}

/// Reports as callers see them.
enum ReportView {
    /// A message's report.
    static func report(_ report: DeliveryReport) -> JSONValue {
        let message = report.message
        var members: [JSONValue.Member] = [
            .init("name", .string("projects/\(message.project)/messages/\(message.id)")),
            .init("target", target(message)),
        ]
        if let label = message.facts.label { members.append(.init("label", .string(label.rawValue))) }
        members += [
            .init("state", .string(report.state.rawValue)),
            .init("acceptTime", .string(message.acceptedAt.rfc3339)),
            .init("expireTime", .string(message.expiresAt.rfc3339)),
        ]
        if let completedAt = report.completedAt {
            members.append(.init("completeTime", .string(completedAt.rfc3339)))
        }
        members += [
            .init("audience", .integer(audience(message))),
            .init("ledger", ledger(report)),
            .init("rejectedByReason", reasons(report.rejectedByReason)),
        ]
        if let latency = report.latency { members.append(.init("latency", percentiles(latency))) }
        return .object(members)
    }

    /// One delivery of a message.
    static func delivery(_ delivery: DeliveryRecord, in project: ProjectID) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("registration", .string("projects/\(project)/registrations/\(delivery.registration)")),
            .init("app", .string(delivery.app.rawValue)),
            .init("outcome", .string(delivery.outcome?.rawValue.uppercased() ?? "IN_FLIGHT")),
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
        if let id = delivery.apnsID { members.append(.init("apnsId", .string(id.rawValue))) }
        return .object(members)
    }

    private static func target(_ message: MessageSummary) -> JSONValue {
        switch message.recipient {
        case .registration(_, let id):
            .object([.init("registration", .string("projects/\(message.project)/registrations/\(id)"))])
        case .topic(let topic, _):
            .object([.init("topic", .string(topic.rawValue))])
        }
    }

    private static func audience(_ message: MessageSummary) -> Int {
        switch message.recipient {
        case .registration: 1
        case .topic(_, let audience): audience
        }
    }

    // recipients == accepted + rejected + expired + cancelled + inFlight, always.
    private static func ledger(_ report: DeliveryReport) -> JSONValue {
        let ended = LedgerOutcome.allCases.map { outcome in
            JSONValue.Member(outcome.rawValue, .integer(report.ended[outcome] ?? 0))
        }
        return .object(
            [.init("recipients", .integer(report.recipients))] + ended
                + [.init("inFlight", .integer(report.inFlight))])
    }

    private static func reasons(_ counts: [String: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })
    }

    private static func percentiles(_ latency: LatencyPercentiles) -> JSONValue {
        .object([
            .init("p50", .string(durationText(milliseconds: latency.p50))),
            .init("p90", .string(durationText(milliseconds: latency.p90))),
            .init("p99", .string(durationText(milliseconds: latency.p99))),
        ])
    }
}
