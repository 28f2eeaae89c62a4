import ArgumentParser
import Foundation
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// `herald-bench ledger`: how large the ledger becomes, and how long it takes to read.
struct LedgerCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "ledger", abstract: "Measures the ledger's size, and reports and exports on many rows.",
        discussion: """
            Broadcasts are accepted, claimed and settled in a store of its own until the ledger has so many rows. Then the \
            store is opened anew and asked for reports, deliveries and the beginning of an export, of messages taken at \
            random.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Rows of the ledger.") var rows = 2_000_000
    @Option(help: "Recipients of a broadcast.") var devices = 100_000
    @Option(help: "Questions of each kind.") var samples = 200

    private static let project = ProjectID(rawValue: GatewayFiles.project)!

    func validate() throws {
        guard (1000...1_000_000_000).contains(rows) else { throw ValidationError("--rows is 1000 to 1000000000.") }
        guard (1000...1_000_000).contains(devices) else { throw ValidationError("--devices is 1000 to 1000000.") }
        guard (1...100_000).contains(samples) else { throw ValidationError("--samples is 1 to 100000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let table = ResultTable(["what", "figure", "p99", "unit"], isJSON: options.json)
        var figures: [String: Double] = [:]
        func note(_ name: String, _ value: Double, p99: Double? = nil, _ unit: String) {
            table.add([name, figure(value, 2), p99.map { figure($0, 2) } ?? "", unit])
            figures["\(name), \(unit)"] = value
            if let p99 { figures["\(name), p99 \(unit)"] = p99 }
        }
        let folder = StoreFolder(in: options.directory)
        var store = try folder.open()
        let topic = try await SettledAudience(store: store, size: devices, batch: 1000).make(0)
        try store.close()
        let before = try folder.bytes

        store = try folder.open()
        let audience = SettledAudience(store: store, size: devices, batch: 1000)
        var messages: [MessageID] = []
        var costs: [RowCost] = []
        for round in 0..<max(1, rows / devices) {
            let (message, cost) = try await audience.settle(topic, as: round == 0 ? .suspects : .proven)
            messages.append(message)
            costs.append(cost)
        }
        try store.close()
        let count = Double(messages.count * devices)
        let cost = RowCost.median(of: costs)
        note("claim", cost.claim, "µs/row")
        note("settle", cost.settle, "µs/row")
        note("last tenth, settle", costs.suffix(max(1, costs.count / 10)).map(\.settle).median, "µs/row")
        note("a million rows", Double(try folder.bytes - before) / count * 1e6 / 1_048_576, "MiB")

        store = try folder.open()
        for (name, times) in try await ask(store, messages) {
            note(name, times.p50 / 1000, p99: times.p99 / 1000, "ms")
        }
        try store.close()
        table.note("\(Int(count)) rows of \(messages.count) messages to \(devices) devices each")
        try table.end(figures)
    }

    private func ask(_ store: SQLiteStore, _ messages: [MessageID]) async throws -> [(String, Percentiles)] {
        let end = Audience.now()
        let start = Timestamp(milliseconds: end.milliseconds - 3_600_000)
        let (project, devices) = (Self.project, devices)
        return [
            (
                "report of a message",
                try await times(messages) {
                    try await store.report($0, in: project)?.recipients == devices
                }
            ),
            (
                "its first 100 rows",
                try await times(messages) {
                    try await store.deliveries(of: $0, in: project, outcome: nil, after: nil, limit: 100).elements.count
                        == 100
                }
            ),
            (
                "its rejected rows",
                try await times(messages) {
                    try await store.deliveries(of: $0, in: project, outcome: .rejected, after: nil, limit: 100).elements
                        .isEmpty
                }
            ),
            (
                "last 50 messages",
                try await times(messages) { _ in
                    try await !store.reports(in: project, after: nil, limit: 50).elements.isEmpty
                }
            ),
            (
                "1000 rows of export",
                try await times(messages) { _ in
                    try await store.export(
                        project: project, from: start, to: end, at: end, after: nil, limit: 1000
                    ).elements.count == 1000
                }
            ),
        ]
    }

    private func times(
        _ messages: [MessageID], _ body: (MessageID) async throws -> Bool
    ) async throws -> Percentiles {
        var histogram = Histogram()
        for _ in 0..<samples {
            guard let message = messages.randomElement() else { break }
            let begin = ContinuousClock.now
            guard try await body(message) else { throw BenchFailure("the ledger gave something else than was put in") }
            histogram.add(ContinuousClock.now - begin)
        }
        return histogram.percentiles
    }
}
