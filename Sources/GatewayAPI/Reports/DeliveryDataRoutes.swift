import Hummingbird
import JSON
import PushModel
import Store

/// FCM's reporting API (fcmdata.v1beta1.json): what became of an app's messages, by day and label.
///
/// The figures are exact and of the moment: the sums that settlements keep, and the open work. Of FCM's fields those are
/// given that the gateway knows; its own stand beside them. What a push service took is called delivered only when the device said
/// so.
enum DeliveryDataRoutes {
    static let all: [Route] = [
        Route(
            method: .get, path: "/v1beta1/projects/{project}/androidApps/{app}/deliveryData",
            scope: .project(.read, list))
    ]

    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 1000, maximum: 10_000)
        let name = try call.parameter("app")
        guard let app = call.project.apps(named: name).first else {
            throw isFirebaseApp(name)
                ? FCMError(.notFound, "Apps go by their bundle ids here, not by Firebase app ids: use the bundle id.")
                : FCMError(.notFound)
        }
        let page = try await call.services.store.deliveryDays(
            of: app.id, on: name == app.id.rawValue ? nil : app.platform, in: call.project.id,
            after: query["pageToken"], limit: size)
        var members: [JSONValue.Member] = []
        if !page.elements.isEmpty {
            members.append(.init("androidDeliveryData", .array(page.elements.map { view($0, name) })))
        }
        if let next = page.nextCursor { members.append(.init("nextPageToken", .string(next))) }
        return Response(json: .object(members))
    }

    /// Whether a text has the form of a Firebase app id, `1:<project number>:<platform>:<hex digits>`: nothing tells
    /// which bundle id it stands for.
    private static func isFirebaseApp(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9]+:[0-9]+:(android|ios|web):[0-9A-Fa-f]+/) != nil
    }

    private static func view(_ day: DeliveryDay, _ app: String) -> JSONValue {
        let date = Timestamp.date(ofDay: day.day)
        let dateMembers: [JSONValue.Member] = [
            .init("year", .integer(Int(date.year))), .init("month", .integer(Int(date.month))),
            .init("day", .integer(Int(date.day))),
        ]
        var members: [JSONValue.Member] = [
            .init("appId", .string(app)), .init("date", .object(dateMembers)),
        ]
        if let label = day.label { members.append(.init("analyticsLabel", .string(label.rawValue))) }
        members.append(.init("data", data(day)))
        return .object(members)
    }

    private static func data(_ day: DeliveryDay) -> JSONValue {
        let percent = { (count: Int) in
            JSONValue.number(String(Float(100 * Double(count) / Double(max(1, day.recipients)))))
        }
        let ended = LedgerOutcome.allCases.map { ($0, day.ended[$0] ?? 0) }
        return .object([
            // 64 bits: in a string, as proto-JSON has it.
            .init("countMessagesAccepted", .string(String(day.recipients))),
            .init("countNotificationsAccepted", .string(String(day.displayed))),
            .init(
                "messageOutcomePercents",
                .object([
                    .init("delivered", percent(day.delivered)), .init("pending", percent(day.inFlight)),
                    .init("droppedTtlExpired", percent(day.ended[.expired] ?? 0)),
                    // Ours.
                    .init("acceptedByProvider", percent((day.ended[.accepted] ?? 0) - day.delivered)),
                    .init("rejected", percent(day.ended[.rejected] ?? 0)),
                    .init("cancelled", percent(day.ended[.cancelled] ?? 0)),
                ])),
            .init(
                "ledger",
                .object(
                    [.init("recipients", .integer(day.recipients))]
                        + ended.map { .init($0.rawValue, .integer($1)) } + [.init("inFlight", .integer(day.inFlight))])),
        ])
    }
}
