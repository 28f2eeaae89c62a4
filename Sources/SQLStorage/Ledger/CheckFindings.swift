import PushModel
import Store

/// What a check found, by kind, with the first few places of each.
struct CheckFindings {
    private static let placeLimit = 5

    private struct Finding {
        let text: String
        var count = 0
        var places: [String] = []
    }

    private var findings: [Finding] = []

    /// Notes that something does not hold.
    mutating func add(_ text: String, count: Int = 1, at place: String? = nil) {
        guard count > 0 else { return }
        let index = findings.firstIndex { $0.text == text } ?? findings.count
        if index == findings.count { findings.append(Finding(text: text)) }
        findings[index].count += count
        if let place, findings[index].places.count < Self.placeLimit { findings[index].places.append(place) }
    }

    /// Adds what another part of the check found.
    mutating func add(_ other: CheckFindings) {
        for finding in other.findings {
            add(finding.text, count: finding.count - finding.places.count)
            for place in finding.places { add(finding.text, at: place) }
        }
    }

    /// A sentence for each kind: what, how often, where first.
    var sentences: [String] {
        findings.map { finding in
            let places = finding.places.isEmpty ? "" : " (\(finding.places.joined(separator: ", ")))"
            return "\(finding.text): \(finding.count)\(places)"
        }
    }
}
