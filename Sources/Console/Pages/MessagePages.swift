import HTTPTypes
import PushModel
import Store

/// The list of messages, by filters.
enum MessagePages {
    static let routes: [ConsoleRoute] = [.get("messages", .viewer, list)]

    /// How many rows a page has before no more are looked for, which is how many messages are read at a time; and about how
    /// many messages one look goes through for them. So a look has at most ``lookLimit`` / ``size`` + 1 reads.
    private static let size = 30
    private static let lookLimit = 200

    /// What a list keeps.
    private struct Filter {
        var state: MessageState?
        var target: String?
        var label: String?
        var sender: String?
        var from: Timestamp?
        var to: Timestamp?

        init(_ query: Form) {
            state = query["state"].flatMap { MessageState(rawValue: $0) }
            target = query["target"]?.lowercased()
            label = query["label"]
            sender = query["sender"]?.lowercased()
            from = query["from"].flatMap { Timestamp(rfc3339: $0 + "T00:00:00Z") }
            to = query["to"].flatMap { Timestamp(rfc3339: $0 + "T00:00:00Z") }.map { $0 + .seconds(86_400) }
        }

        func keeps(_ report: DeliveryReport) -> Bool {
            let message = report.message
            if let target, !message.target.lowercased().contains(target) { return false }
            if let label, message.facts.label?.rawValue != label { return false }
            if let sender, !message.sender.lowercased().contains(sender) { return false }
            if let to, message.acceptedAt >= to { return false }
            return isYoungEnough(report)
        }

        func isYoungEnough(_ report: DeliveryReport) -> Bool { from.map { report.message.acceptedAt >= $0 } ?? true }

        var isEmpty: Bool {
            state == nil && target == nil && label == nil && sender == nil && from == nil && to == nil
        }
    }

    @Sendable private static func list(_ call: ConsoleCall) async throws -> Reply {
        let query = call.visit.query
        if let text = query["id"] { return try await find(text, call) }
        let filter = Filter(query)
        let found = try await look(filter, after: query["after"], call)
        let titles = try await call.titles(of: found.reports.map(\.message.id))
        var model: Model = [
            "states": states(filter.state), "target": query.text("target"), "label": query.text("label"),
            "sender": query.text("sender"), "from": query.text("from"), "to": query.text("to"),
            "isFiltered": !filter.isEmpty, "messages": call.rows(of: found.reports, titles),
            "hasMessages": !found.reports.isEmpty,
            "emptyText": filter.isEmpty
                ? "Messages that backends and operators send appear here at once."
                : "None of the \(Format.number(found.looked)) messages looked at fits. Widen the filter, or look further."
                ,
        ]
        if let cursor = found.next {
            model["next"] = "\(call.root)/messages?\(kept(query))after=\(cursor.urlEncoded)"
            if found.reports.count < size { model["nextTitle"] = "Look further back" }
        }
        return .page(.messages, "Messages", menu: .messages, isLive: query["after"] == nil, model)
    }

    /// Reports that a filter keeps, the newest first: a bounded number of messages is looked at.
    private static func look(
        _ filter: Filter, after cursor: String?, _ call: ConsoleCall
    ) async throws -> (reports: [DeliveryReport], next: String?, looked: Int) {
        var (reports, cursor, looked): ([DeliveryReport], String?, Int) = ([], cursor, 0)
        repeat {
            let page = try await call.list { () async throws(StoreError) in
                try await call.store.reports(
                    in: call.project.id, state: filter.state, after: cursor, limit: size)
            }
            looked += page.elements.count
            reports += page.elements.filter(filter.keeps)
            cursor = page.nextCursor
            // Messages are in the order of their accept: what follows is older.
            if let last = page.elements.last, !filter.isYoungEnough(last) { cursor = nil }
        } while cursor != nil && reports.count < size && looked < lookLimit
        return (reports, cursor, looked)
    }

    private static func find(_ text: String, _ call: ConsoleCall) async throws -> Reply {
        let id = text.split(separator: "/").last.map(String.init) ?? text
        guard let id = MessageID(rawValue: id), try await call.store.message(id, in: call.project.id) != nil else {
            throw ConsoleError(
                .notFound, "There is no such message",
                "An id is what the gateway answered when it took the message. Retention removes old messages.")
        }
        return .redirect("\(call.root)/messages/\(id)")
    }

    private static func states(_ chosen: MessageState?) -> [Model] {
        [["value": "", "title": "All", "selected": chosen == nil]]
            + MessageState.allCases.map { ["value": $0.rawValue, "title": $0.word, "selected": $0 == chosen] }
    }

    private static func kept(_ query: Form) -> String {
        ["state", "target", "label", "sender", "from", "to"].compactMap { name in
            query[name].map { "\(name)=\($0.urlEncoded)&" }
        }.joined()
    }
}
