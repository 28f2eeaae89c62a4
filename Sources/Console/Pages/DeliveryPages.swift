import HTTPTypes
import Hummingbird
import PushModel
import Store

/// The deliveries of a message, one by one.
enum DeliveryPages {
    static let routes: [ConsoleRoute] = [
        .get("messages/{message}/deliveries", .viewer, list),
        .get("messages/{message}/export.csv", .viewer) { try await export($0, isCSV: true) },
        .get("messages/{message}/export.ndjson", .viewer) { try await export($0, isCSV: false) },
    ]

    private static let size = 50

    @Sendable private static func list(_ call: ConsoleCall) async throws -> Reply {
        guard let id = MessageID(rawValue: call.capture("message")),
            try await call.store.message(id, in: call.project.id) != nil
        else { throw ConsoleError.notFound }
        let outcome = call.visit.query["outcome"].flatMap(LedgerOutcome.init(rawValue:))
        let here = "\(call.root)/messages/\(id)"
        let page = try await call.list { () async throws(StoreError) in
            try await call.store.deliveries(
                of: id, in: call.project.id, outcome: outcome, after: call.visit.query["after"], limit: size)
        }
        var outcomes: [Model] = [["url": "\(here)/deliveries", "title": "All", "current": outcome == nil]]
        outcomes += LedgerOutcome.allCases.map {
            ["url": "\(here)/deliveries?outcome=\($0.rawValue)", "title": $0.rawValue, "current": $0 == outcome]
        }
        var model: Model = [
            "id": id.rawValue, "report": here, "outcomes": outcomes,
            "rows": page.elements.map { row($0, message: id, call) }, "hasRows": !page.elements.isEmpty,
            "exportCSV": "\(here)/export.csv" + (outcome.map { "?outcome=\($0.rawValue)" } ?? ""),
            "exportJSON": "\(here)/export.ndjson" + (outcome.map { "?outcome=\($0.rawValue)" } ?? ""),
        ]
        if let next = page.nextCursor {
            let kept = outcome.map { "outcome=\($0.rawValue)&" } ?? ""
            model["next"] = "\(here)/deliveries?\(kept)after=\(next.urlEncoded)"
            model["nextTitle"] = "Show more"
        }
        return .page(.deliveries, "Deliveries", menu: .messages, model)
    }

    private static func row(_ record: DeliveryRecord, message: MessageID, _ call: ConsoleCall) -> Model {
        [
            "device": record.registration.rawValue,
            "url": "\(call.root)/device/\(record.registration)?message=\(message)",
            "app": record.app.id.rawValue, "outcome": record.outcomeWord, "kind": record.kind,
            "reason": record.reason ?? record.history.lastCause ?? "",
            "attempts": Format.number(record.history.attempts),
            "latency": record.latencyMilliseconds.map { Format.span(milliseconds: $0) } ?? "–",
            "ended": record.endedAt.map(Format.time) ?? Markup("–"), "receipts": record.receiptWords,
        ]
    }

    /// The same rows as a file, page by page: memory does not depend on how many there are.
    @Sendable private static func export(_ call: ConsoleCall, isCSV: Bool) async throws -> Reply {
        guard let id = MessageID(rawValue: call.capture("message")),
            try await call.store.message(id, in: call.project.id) != nil
        else { throw ConsoleError.notFound }
        let outcome = call.visit.query["outcome"].flatMap(LedgerOutcome.init(rawValue:))
        let file = DeliveryFile(
            isCSV: isCSV, message: id, project: call.project.id, outcome: outcome, store: call.store)
        var headers = HTTPFields.ofConsole
        headers[.contentType] = isCSV ? "text/csv; charset=utf-8" : "application/x-ndjson"
        headers[.contentDisposition] = "attachment; filename=\"deliveries-\(id).\(isCSV ? "csv" : "ndjson")\""
        return .response(Response(status: .ok, headers: headers, body: file.body))
    }
}
