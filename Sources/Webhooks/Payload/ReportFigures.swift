package import JSON
import PushModel
package import Store

/// The figures of a message as callers, webhooks and pages see them.
package enum ReportFigures {
    /// What the event that a message is over says of it: no target but a topic, and no user.
    package static func members(_ report: DeliveryReport) -> [JSONValue.Member] {
        let message = report.message
        var members: [JSONValue.Member] = []
        if let label = message.facts.label { members.append(.init("label", .string(label.rawValue))) }
        if case .topic(let topic) = message.recipient { members.append(.init("topic", .string(topic.rawValue))) }
        members += [
            .init("state", .string(report.state.rawValue)), .init("acceptTime", .string(message.acceptedAt.rfc3339)),
        ]
        if let completedAt = report.completedAt {
            members.append(.init("completeTime", .string(completedAt.rfc3339)))
        }
        return members + [.init("audience", .number(String(message.audience)))] + figures(report)
    }

    /// The figures alone.
    package static func figures(_ report: DeliveryReport) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        let passedOver = passedOver(report.passedOver)
        if !passedOver.isEmpty { members.append(.init("passedOver", .object(passedOver))) }
        members += [
            .init("ledger", .object(ledger(report.recipients, report.ended, inFlight: report.inFlight))),
            .init("platforms", platforms(report)), .init("rejectedByReason", reasons(report.rejectedByReason)),
        ]
        if let latency = report.latency { members.append(.init("latency", percentiles(latency))) }
        if !report.receipts.isEmpty {
            members.append(.init("receipts", receipts(report.receipts) { .number(String($0)) }))
        }
        return members
    }

    /// What devices reported, in the order of the kinds: how many did, or when one did.
    package static func receipts<Value>(
        _ values: [ReceiptKind: Value], _ view: (Value) -> JSONValue
    ) -> JSONValue {
        .object(
            ReceiptKind.allCases.compactMap { kind in
                values[kind].map { JSONValue.Member(kind.rawValue, view($0)) }
            })
    }

    /// `"3.5s"`: as a google.protobuf.Duration is written, to the millisecond.
    package static func durationText(milliseconds: Int64) -> String {
        let sign = milliseconds < 0 ? "-" : ""
        let (seconds, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return "\(sign)\(seconds)s" }
        let digits = String(rest)
        return "\(sign)\(seconds).\(String(repeating: "0", count: 3 - digits.count))\(digits)s"
    }

    /// Whom the fan-out passed by, by cause; causes that hold for none are left out.
    private static func passedOver(_ counts: PassedOver) -> [JSONValue.Member] {
        [("ended", counts.ended), ("quarantined", counts.quarantined), ("stale", counts.stale)]
            .filter { $0.1 > 0 }.map { .init($0.0, .number(String($0.1))) }
    }

    // recipients == accepted + rejected + expired + cancelled + inFlight, always.
    private static func ledger(
        _ recipients: Int, _ ended: [LedgerOutcome: Int], inFlight: Int
    ) -> [JSONValue.Member] {
        let ended = LedgerOutcome.allCases.map { outcome in
            JSONValue.Member(outcome.rawValue, .number(String(ended[outcome] ?? 0)))
        }
        return [.init("recipients", .number(String(recipients)))] + ended
            + [.init("inFlight", .number(String(inFlight)))]
    }

    // audience == recipients + passedOver, and the law of the ledger, for each platform.
    private static func platforms(_ report: DeliveryReport) -> JSONValue {
        .object(
            Platform.allCases.compactMap { platform in
                report.platforms[platform].map { figures in
                    let members: [JSONValue.Member] = [
                        .init("audience", .number(String(figures.audience))),
                        .init("passedOver", .number(String(figures.passedOver))),
                    ]
                    let law = ledger(figures.recipients, figures.ended, inFlight: figures.inFlight)
                    return .init(platform.rawValue, .object(members + law))
                }
            })
    }

    private static func reasons(_ counts: [String: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { .init($0.key, .number(String($0.value))) })
    }

    private static func percentiles(_ latency: LatencyPercentiles) -> JSONValue {
        .object([
            .init("p50", .string(durationText(milliseconds: latency.p50))),
            .init("p90", .string(durationText(milliseconds: latency.p90))),
            .init("p99", .string(durationText(milliseconds: latency.p99))),
        ])
    }
}
