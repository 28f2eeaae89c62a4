import Delivery
import HTTPTypes
import JSON
import PushModel
import Store

/// How the project's deliveries go: the last hour, day and week.
enum OverviewPage {
    static let routes: [ConsoleRoute] = [.get("", .viewer, overview), .get("apps", .viewer, AppPage.page)]

    @Sendable private static func overview(_ call: ConsoleCall) async throws -> Reply {
        let span = call.visit.query["span"].flatMap(TrafficSpan.init(rawValue:)) ?? .hour
        let series = try await call.services.traffic(call.project.id, span)
        let status = try await call.act(.get, call.apiPath("status"))
        let reports = try await call.store.reports(in: call.project.id, after: nil, limit: 6)
        let titles = try await call.titles(of: reports.elements.map(\.message.id))
        let health = GatewayHealth(status, in: call)
        var model: Model = [
            "spans": TrafficSpan.allCases.map { item -> Model in
                ["url": "\(call.root)?span=\(item.rawValue)", "title": item.title, "current": item == span]
            },
            "spanText": span.title.lowercased(),
            "chart": Charts.bars(
                series.bars, title: "Deliveries by how they ended, \(span.title.lowercased())", tableHead: "From"),
            "tiles": tiles(series, health, span), "publicURL": call.services.publicURL(),
            "messages": call.rows(of: reports.elements, titles), "hasMessages": !reports.elements.isEmpty,
            "isEmpty": reports.elements.isEmpty,
        ]
        model.merge(health.model) { $1 }
        return .page(.overview, "Overview", menu: .overview, isLive: true, model)
    }

    private static func tiles(_ series: TrafficSeries, _ health: GatewayHealth, _ span: TrafficSpan) -> [Model] {
        let ended = LedgerOutcome.allCases.reduce(0) { $0 + series.total($1) }
        let accepted = series.total(.accepted)
        let failed = series.total(.rejected) + series.total(.expired)
        let seconds = Int(span.stepSeconds) * span.steps
        return [
            [
                "label": "Accepted", "value": Format.number(accepted), "kind": "",
                "detail": "\(Format.share(accepted, of: ended)) of what ended",
            ],
            [
                "label": "Failed", "value": Format.number(failed), "kind": failed == 0 ? "" : "bad",
                "detail": "rejected or expired",
            ],
            [
                "label": "Rate", "value": rate(ended, seconds), "kind": "",
                "detail": "deliveries a second, on average",
            ],
            [
                "label": "Backlog", "value": Format.number(health.waiting), "kind": "",
                "detail": "\(Format.number(health.inFlight)) in flight",
            ],
        ]
    }

    private static func rate(_ count: Int, _ seconds: Int) -> String {
        let perSecond = Double(count) / Double(max(1, seconds))
        if perSecond >= 10 { return Format.number(Int(perSecond.rounded())) }
        let hundredths = Int((perSecond * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
