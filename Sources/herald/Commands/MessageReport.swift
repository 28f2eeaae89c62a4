import JSON
import PushModel

/// A message's report as the gateway's API gives it, and its picture for people.
struct MessageReport: Hashable {
    /// The message's name.
    var name: String
    /// ACTIVE, PAUSED, COMPLETE or CANCELLED.
    var state: String
    /// `topic weather` or `registration …`.
    var target: String
    /// The sender's label.
    var label: String?
    /// When it was accepted, RFC 3339.
    var acceptTime: String
    /// When its last delivery ended.
    var completeTime: String?
    /// When its last recipient will have been claimed, as far as that is known.
    var expectedEndTime: String?
    /// Its pace: `500/s`, or `until …`.
    var pace: String?
    /// How many it was meant for when it was accepted.
    var audience: Int
    /// Deliveries claimed so far.
    var recipients: Int
    /// Registrations that the fan-out passed by, by cause.
    var passedOver: [Count]
    /// Deliveries by where they stand, in the order of the bar.
    var counts: [Count]
    /// Rejected deliveries by reason, the most frequent first.
    var reasons: [Count]
    /// The figures of each platform that the message came by.
    var platforms: [PlatformFigures]
    /// Platforms that the message has blocks for and that nothing is sent to.
    var platformsNotSent: [String]
    /// What devices reported, by kind.
    var receipts: [Count]
    /// The links that are tracked, with what happened with each.
    var links: [(url: String, counts: [Count])]
    /// Latency percentiles as the gateway writes them, such as `0.142s`.
    var latency: [(String, String)]

    /// What a platform has of the message.
    struct PlatformFigures: Hashable {
        /// `apple`, `android` or `web`.
        var name: String
        /// Deliveries claimed so far.
        var recipients: Int
        /// Registrations that the fan-out passed by.
        var passedOver: Int
        /// Deliveries by where they stand.
        var counts: [Count]

        /// One line.
        var text: String {
            let parts = counts + [Count(name: "passed by", value: passedOver)]
            let numbers = parts.filter { $0.value > 0 }.map { "\($0.value) \($0.name)" }
            return "\(name) \(recipients)" + (numbers.isEmpty ? "" : ": " + numbers.joined(separator: ", "))
        }
    }

    /// A number with its name.
    struct Count: Hashable {
        var name: String
        var value: Int
    }

    /// Where deliveries stand, and the letter of the bar.
    static let parts: [(key: String, name: String, mark: Character)] = [
        ("accepted", "accepted", "█"), ("rejected", "rejected", "▒"), ("expired", "expired", "░"),
        ("cancelled", "cancelled", "×"), ("inFlight", "in flight", "·"),
    ]

    /// Reads a report; missing fields count as nothing.
    init(_ value: JSONValue) {
        name = value["name"]?.stringValue ?? ""
        state = value["state"]?.stringValue ?? ""
        let last = { (text: String) in text.split(separator: "/").last.map(String.init) ?? text }
        target = value["target"]?.members.first.map { Self.target($0, last) } ?? ""
        label = value["label"]?.stringValue
        acceptTime = value["acceptTime"]?.stringValue ?? ""
        completeTime = value["completeTime"]?.stringValue
        expectedEndTime = value["expectedEndTime"]?.stringValue
        pace =
            value["pace"]?["rate"]?.integerValue.map { "\($0)/s" }
            ?? value["pace"]?["finishBy"]?.stringValue.map { "until \($0)" }
        audience = value["audience"]?.integerValue ?? 0
        let ledger = value["ledger"]
        recipients = ledger?["recipients"]?.integerValue ?? 0
        passedOver = (value["passedOver"]?.members ?? [])
            .map { Count(name: $0.name, value: $0.value.integerValue ?? 0) }
        counts = Self.parts.map { Count(name: $0.name, value: ledger?[$0.key]?.integerValue ?? 0) }
        reasons = (value["rejectedByReason"]?.members ?? [])
            .map { Count(name: $0.name, value: $0.value.integerValue ?? 0) }
            .sorted { ($1.value, $0.name) < ($0.value, $1.name) }
        platforms = (value["platforms"]?.members ?? []).map { Self.figures($0.name, $0.value) }
        platformsNotSent = (value["blocks"]?.members ?? []).filter { $0.value == .string("NOT_APPLICABLE") }
            .map(\.name)
        receipts = (value["receipts"]?.members ?? [])
            .map { Count(name: $0.name, value: $0.value.integerValue ?? 0) }
        links = Self.links(value["links"])
        latency = (value["latency"]?.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }
    }

    private static func figures(_ name: String, _ value: JSONValue) -> PlatformFigures {
        PlatformFigures(
            name: name, recipients: value["recipients"]?.integerValue ?? 0,
            passedOver: value["passedOver"]?.integerValue ?? 0,
            counts: parts.map { Count(name: $0.name, value: value[$0.key]?.integerValue ?? 0) })
    }

    /// The links with the events that happened, clicks always.
    private static func links(_ value: JSONValue?) -> [(url: String, counts: [Count])] {
        guard case .array(let links)? = value else { return [] }
        let events = [
            ("clicks", "clicks"), ("redirects", "redirects"), ("appInstalls", "installs"),
            ("appFirstOpens", "first opens"), ("appReopens", "opens"),
        ]
        return links.map { link in
            let counts = events.map { Count(name: $0.1, value: link[$0.0]?.integerValue ?? 0) }
            return (link["shortLink"]?.stringValue ?? "", counts.filter { $0.value > 0 || $0.name == "clicks" })
        }
    }

    /// `topic weather`; of a name only its end, of a list how many it has.
    private static func target(_ member: JSONValue.Member, _ last: (String) -> String) -> String {
        switch member.name {
        case "registration": "registration \(last(member.value.stringValue ?? ""))"
        case "registrations": "\(member.value.integerValue ?? 0) registrations"
        default: "\(member.name) \(member.value.stringValue ?? "")"
        }
    }

    static func == (one: MessageReport, other: MessageReport) -> Bool {
        one.name == other.name && one.state == other.state && one.counts == other.counts
            && one.recipients == other.recipients && one.platforms == other.platforms
            && one.passedOver == other.passedOver && one.reasons == other.reasons
            && one.expectedEndTime == other.expectedEndTime && one.receipts == other.receipts
            && one.links.elementsEqual(other.links) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(state)
        hasher.combine(counts)
    }

    /// Whether nothing will change any more.
    var isFinal: Bool { state == "COMPLETE" || (state == "CANCELLED" && completeTime != nil) }

    /// How many it is for, in the text as in the bar: those that were claimed and, until the end, those of the audience
    /// that are still to come. Whom the fan-out passed by is not among them.
    var expected: Int {
        isFinal ? recipients : max(audience - passedOver.reduce(0) { $0 + $1.value }, recipients)
    }

    /// The id alone.
    var id: String { name.split(separator: "/").last.map(String.init) ?? name }

    /// One line.
    var summary: String {
        let numbers = counts.filter { $0.value > 0 }.map { "\($0.value) \($0.name)" }
        return "\(id) \(state) \(recipients) of \(expected)"
            + (numbers.isEmpty ? "" : ": " + numbers.joined(separator: ", "))
    }

    /// The whole picture, no line wider than `width`.
    func lines(width: Int) -> [String] {
        var lines = [
            "Message    \(Table.safe(id))", "Target     \(Table.safe(target))",
            "State      \(state)\(isFinal ? "" : ", \(recipients) of \(expected)")",
            "Accepted   \(Table.safe(acceptTime))",
        ]
        if let label { lines.insert("Label      \(Table.safe(label))", at: 2) }
        if let completeTime { lines.append("Completed  \(Table.safe(completeTime))") }
        if let pace { lines.append("Pace       \(Table.safe(pace))") }
        if let expectedEndTime { lines.append("Expected   \(Table.safe(expectedEndTime))") }
        if !passedOver.isEmpty {
            lines.append(
                "Passed by  " + passedOver.map { "\($0.value) \(Table.safe($0.name))" }.joined(separator: "  "))
        }
        for platform in platforms { lines.append("Platform   \(Table.safe(platform.text))") }
        if !platformsNotSent.isEmpty {
            lines.append("Not sent   to \(Table.safe(platformsNotSent.joined(separator: ", ")))")
        }
        if !latency.isEmpty {
            lines.append("Latency    " + latency.map { "\($0.0) \(Table.safe($0.1))" }.joined(separator: "  "))
        }
        if !receipts.isEmpty {
            lines.append("Devices    " + receipts.map { "\($0.value) \(Table.safe($0.name))" }.joined(separator: "  "))
        }
        for link in links {
            let counts = link.counts.map { "\($0.value) \($0.name)" }.joined(separator: "  ")
            lines.append("Link       \(Table.safe(link.url))  \(counts)")
        }
        lines += ["", bar(width: width), ""]
        let digits = String(max(recipients, 1)).count
        for (part, count) in zip(Self.parts, counts) {
            lines.append("  \(part.mark) \(count.name.padded(to: 10)) \(String(count.value).aligned(to: digits))")
            guard count.name == "rejected" else { continue }
            for reason in reasons {
                lines.append("      \(String(reason.value).aligned(to: digits)) \(Table.safe(reason.name))")
            }
        }
        lines.append("    \("recipients".padded(to: 10)) \(String(recipients).aligned(to: digits))")
        return lines.map { $0.count > width ? String($0.prefix(max(width, 1))) : $0 }
    }

    /// A bar of the whole width: each part that is not zero has at least one letter, what is ``expected`` beyond
    /// them is blank.
    func bar(width: Int) -> String {
        let room = max(10, width - 2)
        let total = max(expected, 1)
        var lengths = counts.map { count in
            count.value == 0 ? 0 : max(1, Int((Double(count.value) / Double(total) * Double(room)).rounded()))
        }
        while lengths.reduce(0, +) > room, let widest = lengths.indices.max(by: { lengths[$0] < lengths[$1] }) {
            lengths[widest] -= 1
        }
        let claimed = counts.map(\.value).reduce(0, +)
        if claimed >= total, let widest = lengths.indices.max(by: { lengths[$0] < lengths[$1] }) {
            lengths[widest] += room - lengths.reduce(0, +)
        }
        let filled = zip(Self.parts, lengths).map { String(repeating: $0.mark, count: max(0, $1)) }.joined()
        return "[" + filled.padded(to: room) + "]"
    }

    /// A list of messages.
    static func table(_ reports: [MessageReport]) -> Table {
        var table = Table(titles: ["MESSAGE", "ACCEPTED", "TARGET", "STATE", "RECIPIENTS", "ENDED"])
        table.rows = reports.map { report in
            let ended = report.counts.filter { $0.value > 0 }.map { "\($0.value) \($0.name)" }.joined(separator: ", ")
            return [report.id, report.acceptTime, report.target, report.state, String(report.recipients), ended]
        }
        return table
    }
}
