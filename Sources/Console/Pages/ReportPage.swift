import FCMWire
import HTTPTypes
import JSON
import PushModel
import Store

/// One message: what it says, what became of it, who sent it.
enum ReportPage {
    static let routes: [ConsoleRoute] =
        [.get("messages/{message}", .viewer, report)]
        + MessageControl.allCases.map { control in
            .post("messages/{message}/\(control.rawValue)", .operator) { try await act(control, $0) }
        }

    @Sendable private static func act(_ control: MessageControl, _ call: ConsoleCall) async throws -> Reply {
        let id = call.capture("message").urlEncoded
        _ = try await call.act(.post, call.apiPath("messages", "\(id):\(control.rawValue)"), .object([]))
        return .redirect("\(call.root)/messages/\(id)")
    }

    @Sendable private static func report(_ call: ConsoleCall) async throws -> Reply {
        guard let id = MessageID(rawValue: call.capture("message")),
            let report = try await call.store.report(id, in: call.project.id),
            let message = try await call.store.message(id, in: call.project.id)
        else { throw ConsoleError.notFound }
        let links = try await call.store.links(of: id, in: call.project.id)
        let content = call.content(of: message)
        let title = content.map { $0.previewTitle.isEmpty ? $0.previewBody : $0.previewTitle } ?? ""
        let heading = title.isEmpty ? "Message \(id)" : String(title.prefix(120))
        var model = figures(report, links, call)
        model.merge(aside(report, message, content, call)) { $1 }
        model["heading"] = heading
        return .page(.report, heading, menu: .messages, isLive: true, model)
    }

    // MARK: Figures

    private static func figures(_ report: DeliveryReport, _ links: [MessageLink], _ call: ConsoleCall) -> Model {
        let message = report.message
        let ended = LedgerOutcome.allCases.reduce(0) { $0 + (report.ended[$1] ?? 0) }
        let number = { (outcome: LedgerOutcome) in Format.number(report.ended[outcome] ?? 0) }
        let law: Model = [
            "recipients": Format.number(report.recipients), "accepted": number(.accepted),
            "rejected": number(.rejected), "expired": number(.expired), "cancelled": number(.cancelled),
            "inFlight": Format.number(report.inFlight), "holds": report.recipients == ended + report.inFlight,
        ]
        var model: Model = [
            "target": message.target, "state": report.state.word, "stateKind": report.state.kind, "law": law,
            "controls": controls(report.state, "\(call.root)/messages/\(message.id)"),
            "deliveries": "\(call.root)/messages/\(message.id)/deliveries",
            "funnel": funnel(report, links), "platforms": platforms(report), "hasPlatforms": !report.platforms.isEmpty,
            "links": links.map { link -> Model in
                ["url": link.link.key.name, "clicks": Format.number(link.counts.values.reduce(0, +))]
            }, "hasLinks": !links.isEmpty,
        ]
        model.merge(ProgressBar.model(report)) { $1 }
        if report.state == .active || report.state == .paused, message.recipient.isMany {
            model["audience"] =
                "\(Format.number(message.audience)) registrations were meant when it was accepted; "
                + "\(Format.number(report.recipients)) have been claimed so far."
        }
        model.merge(reasons(report, call)) { $1 }
        model["passedOver"] = passedOver(report.passedOver)
        model["latency"] = latency(report)
        return model
    }

    private static func controls(_ state: MessageState, _ url: String) -> [Model] {
        let controls: [(MessageControl, String)] =
            switch state {
            case .active: [(.pause, "Pause"), (.cancel, "Cancel")]
            case .paused: [(.resume, "Resume"), (.cancel, "Cancel")]
            case .complete, .cancelled: []
            }
        return controls.map { control, title in
            ["url": "\(url)/\(control.rawValue)", "title": title, "isDanger": control == .cancel]
        }
    }

    private static func funnel(_ report: DeliveryReport, _ links: [MessageLink]) -> [Model] {
        let accepted = report.ended[.accepted] ?? 0
        let clicks = links.flatMap { $0.counts.values }.reduce(0, +)
        let (received, opened) = (report.receipts[.received] ?? 0, report.receipts[.opened] ?? 0)
        let steps: [(String, Int, Int, String)] = [
            ("Accepted", accepted, report.recipients, "of the recipients"),
            ("Received", received, accepted, "of accepted, as devices report"),
            ("Opened", opened, accepted, "of accepted, as devices report"),
            ("Clicked", clicks, accepted, "clicks for each accepted"),
        ]
        return steps.map { title, count, whole, text in
            let row: Model = [
                "title": title, "value": Format.number(count), "share": "\(Format.share(count, of: whole)) \(text)",
            ]
            return row.merging(
                ProgressBar.model([("funnel", title.lowercased(), count)], of: max(report.recipients, 1))
            ) { own, _ in own }
        }
    }

    private static func reasons(_ report: DeliveryReport, _ call: ConsoleCall) -> Model {
        let rows = report.rejectedByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(50)
        let most = rows.first?.value ?? 0
        let base = "\(call.root)/messages/\(report.message.id)/deliveries?outcome=rejected"
        return [
            "hasReasons": !rows.isEmpty,
            "reasons": rows.map { reason, count -> Model in
                let row: Model = [
                    "reason": reason, "count": Format.number(count), "meaning": call.meaning(of: reason), "url": base,
                ]
                return row.merging(ProgressBar.model([("rejected", "rejected", count)], of: most)) { own, _ in own }
            },
        ]
    }

    private static func passedOver(_ counts: PassedOver) -> Model? {
        let rows: [(Int, String)] = [
            (counts.ended, "registrations had ended"),
            (counts.quarantined, "are in quarantine: the push service refused their device token"),
            (counts.stale, "were not refreshed for so long that the project skips them"),
        ].filter { $0.0 > 0 }
        guard !rows.isEmpty else { return nil }
        return ["rows": rows.map { ["count": Format.number($0.0), "text": $0.1] as Model }]
    }

    private static func platforms(_ report: DeliveryReport) -> [Model] {
        Platform.allCases.compactMap { platform in
            guard let figures = report.platforms[platform] else { return nil }
            let number = { (outcome: LedgerOutcome) in Format.number(figures.ended[outcome] ?? 0) }
            return [
                "name": platform.rawValue, "recipients": Format.number(figures.recipients),
                "accepted": number(.accepted), "rejected": number(.rejected), "expired": number(.expired),
                "inFlight": Format.number(figures.inFlight), "passedOver": Format.number(figures.passedOver),
            ]
        }
    }

    /// The buckets of the store, put together to about twenty.
    private static func latency(_ report: DeliveryReport) -> Model? {
        guard let latency = report.latency else { return nil }
        var bounds: [Int64] = []
        for unit in [10, 100, 1000, 10_000, 100_000, 1_000_000] as [Int64] { bounds += [unit, unit * 2, unit * 5] }
        var counts = Array(repeating: 0, count: bounds.count + 1)
        for (bucket, count) in report.latencies.counts {
            let bound = LatencyHistogram.upperBoundMilliseconds(ofBucket: bucket)
            counts[bounds.firstIndex { bound <= $0 } ?? bounds.count] += count
        }
        let used = counts.indices.filter { counts[$0] > 0 }
        guard let first = used.first, let last = used.last else { return nil }
        let bars = (max(0, first - 1)...min(counts.count - 1, last + 1)).map { place -> Charts.Bar in
            let label = place < bounds.count ? Format.span(milliseconds: bounds[place]) : "more"
            return Charts.Bar(
                label: label, name: place < bounds.count ? "up to \(label)" : label,
                parts: [("accepted", "deliveries", counts[place])])
        }
        return [
            "p50": Format.span(milliseconds: latency.p50), "p90": Format.span(milliseconds: latency.p90),
            "p99": Format.span(milliseconds: latency.p99),
            "chart": Charts.bars(bars, title: "Latency of accepted deliveries", tableHead: "Latency"),
        ]
    }

    // MARK: Beside

    private static func aside(
        _ report: DeliveryReport, _ message: Message, _ content: FCMMessage?, _ call: ConsoleCall
    ) -> Model {
        let facts = report.message.facts
        var model: Model = [
            "id": message.id.rawValue, "sender": report.message.sender,
            "senderRole": facts.credential?.role?.rawValue ?? "–",
            "accepted": Format.time(message.acceptedAt), "expires": Format.time(message.expiresAt),
            "publicURL": call.services.publicURL(), "isRemoved": content == nil, "hasContent": content != nil,
        ]
        model["address"] = facts.credential?.address
        model["completed"] = report.completedAt.map(Format.time)
        model["label"] = facts.label?.rawValue
        if let rate = message.options.rate { model["pace"] = "\(Format.number(rate)) a second" }
        if message.options.finishBy != nil { model["pace"] = "spread until a set time" }
        guard let content else { return model }
        model["preview"] = ComposerPreview.model(
            title: content.previewTitle, body: content.previewBody, in: call.project)
        model["json"] = String(JSONText.pretty(content.source).prefix(20_000))
        model["sizes"] = ComposerPreview.sizes(of: content, for: message.recipient.isMany, call)
        return model
    }
}
