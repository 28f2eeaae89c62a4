import PushModel
import Store

/// A bar of shares, as a template shows it.
enum ProgressBar {
    /// The model of a bar: the parts fill it as far as they are of the whole.
    static func model(_ parts: [(kind: String, name: String, count: Int)], of whole: Int) -> Model {
        var x = 0.0
        var shown: [Model] = []
        for part in parts where part.count > 0 && whole > 0 {
            let width = min(100 - x, 100 * Double(part.count) / Double(whole))
            shown.append(["kind": part.kind, "x": text(x), "width": text(width)])
            x += width
        }
        let label = parts.map { "\(Format.number($0.count)) \($0.name)" }.joined(separator: ", ")
        return ["parts": shown, "barLabel": "\(label) of \(Format.number(whole))"]
    }

    /// How a message's deliveries ended, of its audience.
    static func model(_ report: DeliveryReport) -> Model {
        let ended = LedgerOutcome.allCases.map { ($0.rawValue, $0.rawValue, report.ended[$0] ?? 0) }
        return model(
            ended + [("flight", "in flight", report.inFlight)], of: max(report.recipients, report.message.audience, 1))
    }

    private static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
