package import JSON
import PushModel
package import Store

/// Events as callers and receivers see them: neither tokens nor texts are in them.
package enum EventView {
    /// `{sequence, type, timestamp, data}`.
    package static func json(_ event: Event) -> JSONValue {
        .object([.init("sequence", .number(String(event.number.rawValue)))] + members(event))
    }

    /// `{type, timestamp, data}`: what a webhook of one event sends.
    ///
    /// - Parameter report: where its message stands; its figures are added.
    package static func body(_ event: Event, report: DeliveryReport?) -> JSONValue {
        .object(members(event, report: report))
    }

    /// Every type that an event may have.
    package static let types = EventType.allCases.map(\.rawValue)

    /// An entry of a batch: its data beside type, sequence and time.
    package static func entry(_ event: Event) -> JSONValue {
        .object(
            [
                .init("type", .string(event.type.rawValue)), .init("sequence", .number(String(event.number.rawValue))),
                .init("timestamp", .string(event.time.rfc3339)),
            ] + data(of: event))
    }

    private static func members(_ event: Event, report: DeliveryReport? = nil) -> [JSONValue.Member] {
        [
            .init("type", .string(event.type.rawValue)), .init("timestamp", .string(event.time.rfc3339)),
            .init("data", .object(data(of: event) + (report.map(ReportFigures.members) ?? []))),
        ]
    }

    private static func data(of event: Event) -> [JSONValue.Member] {
        switch event.kind {
        case .message(let id, _): return [message(id, event.project)]
        case .delivery(let delivery): return data(of: delivery, in: event.project)
        case .receipt(let receipt): return data(of: receipt, in: event.project)
        case .registrationEnded(let ended):
            return [
                .init("registration", .string(ended.registration.rawValue)),
                .init("app", .string(ended.app.id.rawValue)),
                .init("platform", .string(ended.app.platform.rawValue)),
                .init("cause", .string(ended.cause.rawValue.uppercased())),
            ] + text("replacement", ended.replacement?.rawValue)
        case .route(let notice):
            return [
                .init("app", .string(notice.route.app.rawValue)),
                .init("platform", .string(notice.route.channel.platform.rawValue)),
            ] + text("environment", notice.route.channel.environment?.rawValue)
        case .webhook(let notice):
            return [
                .init("webhook", .string("projects/\(event.project)/webhooks/\(notice.endpoint)")),
                .init("percent", .number(String(notice.percent))),
            ] + (notice.isDisabled ? text("cause", notice.isGone ? "GONE" : "FAILING") : [])
        case .click(let click):
            return [
                .init("app", .string(click.app.id.rawValue)), .init("platform", .string(click.app.platform.rawValue)),
            ] + text("link", click.link) + text("invitation", click.invitation?.rawValue)
        case .referral(let step):
            return [.init("invitation", .string(step.invitation.rawValue))]
                + text("referral", step.referral?.rawValue) + text("reason", step.rejection?.word)
        case .forgotten(let count): return [.init("count", .number(String(count)))]
        }
    }

    private static func message(_ id: MessageID, _ project: ProjectID) -> JSONValue.Member {
        .init("message", .string("projects/\(project)/messages/\(id)"))
    }

    private static func text(_ name: String, _ value: String?) -> [JSONValue.Member] {
        value.map { [.init(name, .string($0))] } ?? []
    }

    private static func data(of event: DeliveryEvent, in project: ProjectID) -> [JSONValue.Member] {
        let delivery = event.delivery
        return [
            message(event.message, project), .init("registration", .string(delivery.registration.rawValue)),
            .init("app", .string(delivery.app.id.rawValue)),
            .init("platform", .string(delivery.app.platform.rawValue)),
        ] + text("reason", delivery.reason) + [.init("attempts", .number(String(delivery.history.attempts)))]
            + text("label", event.label?.rawValue) + text("topic", event.topic?.rawValue)
    }

    private static func data(of event: ReceiptEvent, in project: ProjectID) -> [JSONValue.Member] {
        [
            message(event.message, project), .init("registration", .string(event.registration.rawValue)),
            .init("app", .string(event.app.id.rawValue)), .init("platform", .string(event.app.platform.rawValue)),
        ] + text("label", event.label?.rawValue) + text("topic", event.topic?.rawValue)
    }
}
