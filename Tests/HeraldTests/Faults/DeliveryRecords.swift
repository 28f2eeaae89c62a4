import Foundation
import Simulators
import TestSupport
import Testing

/// What the gateway says it did: its list of messages and its export.
struct DeliveryRecords {
    /// A message of the list.
    struct Message {
        var id: String
        var state: String
        var ledger: [String: Int]
    }

    /// By marker; a marker with two messages was accepted twice.
    var messages: [String: [Message]] = [:]
    /// The export's rows by message id.
    var rows: [String: [[String: Any]]] = [:]

    /// Reads the books again and again until no message is open.
    static func whenComplete(_ process: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws -> DeliveryRecords {
        let api = APIClient(baseURL: process.baseURL, key: keys.sender)
        let deadline = ContinuousClock.now + .seconds(180)
        while true {
            var books = DeliveryRecords()
            try await books.readMessages(api)
            let open = books.messages.values.joined().filter { $0.state != "COMPLETE" }
            if open.isEmpty {
                try await books.readRows(api)
                return books
            }
            guard ContinuousClock.now < deadline else {
                let why = try await reasons(for: open, api)
                throw ChildProcessError("\(open.count) messages are not complete: \(why)")
            }
            // The API has no signal for "complete": the list is asked for, as its readers do.
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    /// What the gateway says of messages that stay open: their deliveries, its readiness, its gauges.
    private static func reasons(for open: [Message], _ api: APIClient) async throws -> String {
        var lines: [String] = []
        for message in open.prefix(10) {
            let answer = try await api.get("/v1/projects/demo/messages/\(message.id)/deliveries?pageSize=1000")
            for delivery in try answer.json["deliveries"] as? [[String: Any]] ?? []
            where delivery["outcome"] as? String == "IN_FLIGHT" {
                let facts = ["attempts", "unknownAttempts", "reason"].map { "\($0) \(delivery[$0] ?? "-")" }
                lines.append("\(message.id) \(message.state): \(facts.joined(separator: ", "))")
            }
        }
        lines.append("/readyz: \(try await api.get("/readyz").text)")
        let gauges = try await api.get("/metrics").text.split(separator: "\n").filter { line in
            ["herald_backlog", "herald_in_flight", "herald_upstream", "herald_messages"].contains { line.hasPrefix($0) }
        }
        return (lines + gauges.map(String.init)).joined(separator: "\n")
    }

    private mutating func readMessages(_ api: APIClient) async throws {
        var page = ""
        repeat {
            let answer = try await api.get("/v1/projects/demo/messages?pageSize=1000\(page)")
            let json = try answer.json
            for message in json["messages"] as? [[String: Any]] ?? [] {
                let name = try #require(message["name"] as? String)
                let found = Message(
                    id: String(name.split(separator: "/").last ?? ""), state: message["state"] as? String ?? "",
                    ledger: message["ledger"] as? [String: Int] ?? [:])
                messages[message["label"] as? String ?? "", default: []].append(found)
            }
            let token = json["nextPageToken"] as? String
            page =
                token.map { "&pageToken=\($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0)" }
                ?? ""
        } while !page.isEmpty
    }

    private mutating func readRows(_ api: APIClient) async throws {
        let export = try await api.get(
            "/v1/projects/demo/export?startTime=2020-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&format=ndjson")
        for line in export.body.split(separator: UInt8(ascii: "\n")) {
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            rows[row["message_id"] as? String ?? "", default: []].append(row)
        }
    }
}

/// Callers' answers, recording and books of a crash run, laid side by side.
struct CrashFindings {
    private(set) var problems: [String] = []
    private(set) var accepted = 0
    private(set) var broadcasts = 0
    private(set) var refused = 0
    private var unknown = 0
    private var unknownKept = 0
    private var repeats: [Int]
    private let pushCount: Int
    private let repeatLimit: Int

    /// For people.
    var summary: String {
        let worst = repeats.max() ?? 0
        return "\(accepted) messages accepted (\(broadcasts) broadcasts), \(refused) refused, \(unknown) without an "
            + "answer of which \(unknownKept) were kept; \(pushCount) pushes, \(repeats.reduce(0, +)) repeats, at most "
            + "\(worst) after one kill (bound \(repeatLimit)); \(problems.count) problems"
    }

    /// One delivery: a push to one device for one request.
    private struct Delivery: Hashable {
        var marker: String
        var device: String
    }

    init(_ run: CrashTests.Run, _ books: DeliveryRecords, inFlightLimit: Int) {
        let pushes = run.simulator.recording.pushes
        pushCount = pushes.count
        repeats = Array(repeating: 0, count: run.lastConnections.count + 1)
        // What a gateway has in flight is limited for each of its two lanes.
        repeatLimit = 2 * inFlightLimit
        var byMarker: [String: [RecordedPush]] = [:]
        for push in pushes { byMarker[Self.marker(of: push) ?? "", default: []].append(push) }
        if let strange = byMarker[""] { problems.append("\(strange.count) pushes of no request") }
        for (marker, sent) in run.sent { compare(marker, sent, byMarker[marker] ?? [], run, books) }
        for marker in books.messages.keys where run.sent[marker] == nil {
            problems.append("a message that was never sent: \(marker)")
        }
        for marker in byMarker.keys where run.sent[marker] == nil {
            problems.append("a push that was never sent: \(marker)")
        }
        compareRepeats(pushes, run)
        for (kill, count) in repeats.enumerated() where count > repeatLimit {
            problems.append("\(count) repeats after kill \(kill), at most \(repeatLimit) are possible")
        }
    }

    private static func marker(of push: RecordedPush) -> String? {
        push.payload.firstMatch(of: /"title":"(c\d+-\d+)"/).map { String($0.output.1) }
    }

    private mutating func compare(
        _ marker: String, _ sent: CrashLoad.Sent, _ pushes: [RecordedPush], _ run: CrashTests.Run,
        _ books: DeliveryRecords
    ) {
        let messages = books.messages[marker] ?? []
        if messages.count > 1 { problems.append("\(marker) was accepted \(messages.count) times") }
        switch sent.verdict {
        case .accepted(let name):
            accepted += 1
            guard let message = messages.first, name.hasSuffix("/" + message.id) else {
                problems.append("\(marker) was answered with \(name) and is not in the list")
                return
            }
            compare(marker, sent.kind, message, pushes, run, books)
        case .refused(let status):
            refused += 1
            if !pushes.isEmpty {
                problems.append("\(marker) was refused with \(status) and sent \(pushes.count) times")
            }
            if !messages.isEmpty { problems.append("\(marker) was refused with \(status) and kept") }
            if sent.kind == .wrong, status != 400 { problems.append("\(marker) breaks a rule and got \(status)") }
        case .unknown:
            unknown += 1
            if let message = messages.first {
                unknownKept += 1
                compare(marker, sent.kind, message, pushes, run, books)
            } else if !pushes.isEmpty {
                problems.append("\(marker) is not in the list and was sent \(pushes.count) times")
            }
        }
    }

    /// A message that is in the list: whole, whatever its caller was told.
    private mutating func compare(
        _ marker: String, _ kind: CrashLoad.Kind, _ message: DeliveryRecords.Message, _ pushes: [RecordedPush],
        _ run: CrashTests.Run, _ books: DeliveryRecords
    ) {
        let rows = books.rows[message.id] ?? []
        let ledger = message.ledger
        let ends = ["accepted", "rejected", "expired", "cancelled"].map { ledger[$0] ?? -1 }
        if message.state != "COMPLETE" || ledger["inFlight"] != 0 || ledger["recipients"] != ends.reduce(0, +) {
            problems.append("\(marker) does not balance: \(message)")
        }
        if rows.count != ledger["recipients"] {
            problems.append("\(marker) has \(rows.count) rows for \(ledger["recipients"] ?? -1) recipients")
        }
        if Set(rows.map { $0["instance_id"] as? String }).count != rows.count {
            problems.append("\(marker) has two rows for one recipient")
        }
        if ledger["cancelled"] != 0 || ledger["expired"] != 0 { problems.append("\(marker) was given up: \(ledger)") }
        let taken = pushes.filter { $0.status == 200 }
        let acceptedRows = rows.filter { $0["outcome"] as? String == "ACCEPTED" }
        let ids = Set(acceptedRows.compactMap { $0["apns_id"] as? String })
        if ids != Set(taken.compactMap { $0.headers["apns-id"] }) || ids.count != acceptedRows.count {
            problems.append("\(marker): \(acceptedRows.count) accepted, \(Set(taken.map(\.deviceToken)).count) taken")
        }
        if case .device = kind {
            if ledger["recipients"] != 1 { problems.append("\(marker) has \(ledger["recipients"] ?? -1) recipients") }
        } else {
            broadcasts += 1
            let missing = (run.mustGet[kind] ?? []).subtracting(taken.map(\.deviceToken))
            if !missing.isEmpty { problems.append("\(marker) did not reach \(missing.count) subscribers") }
        }
    }

    /// What came more than once is the same push, and an answered one comes again only after a kill.
    private mutating func compareRepeats(_ pushes: [RecordedPush], _ run: CrashTests.Run) {
        let deliveries = Dictionary(grouping: pushes) {
            Delivery(marker: Self.marker(of: $0) ?? "", device: $0.deviceToken)
        }
        for (delivery, pushes) in deliveries where pushes.count > 1 {
            for name in ["apns-id", "apns-collapse-id"] where Set(pushes.map { $0.headers[name] }).count > 1 {
                problems.append("\(delivery.marker) was repeated with another \(name)")
            }
            // 429 and 503 are repeated by rule.
            let final = pushes.filter { [200, 400, 410].contains($0.status) }
            for (first, second) in zip(final, final.dropFirst()) {
                let life = run.life(of: first)
                if life < run.life(of: second) || run.isKill(between: first, and: second) {
                    repeats[life] += 1
                } else {
                    problems.append("\(delivery.marker) was repeated without a kill")
                }
            }
        }
        if Set(pushes.compactMap { $0.headers["apns-id"] }).count != deliveries.count {
            problems.append("two deliveries share an apns-id")
        }
    }
}
