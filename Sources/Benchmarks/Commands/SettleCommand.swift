import ArgumentParser
import Foundation
import SQLStorage
import SQLiteStorage
import Store

/// `herald-bench settle`: what a row costs to claim and to settle, for suspects and for proven device tokens.
struct SettleCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "settle", abstract: "Measures what claiming and settling a delivery costs the store.",
        discussion: """
            A broadcast to device tokens that APNs accepts for the first time writes the mark in its settle batches; the \
            next one to the same tokens has nothing to mark. Both are claimed and settled in the same store, in turns; \
            nothing is sent.
            """)

    @Option(help: "Pairs of runs.") var rounds = 7
    @Option(help: "Deliveries in a run.") var rows = 20_000
    @Option(help: "Deliveries in a transaction.") var batch = 1000
    @Option(help: "Where the store is made; removed afterwards.") var directory = FileManager.default.temporaryDirectory
        .path
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1...1_000_000).contains(rows) else { throw ValidationError("--rows is 1 to 1000000.") }
        guard (1...10_000).contains(batch) else { throw ValidationError("--batch is 1 to 10000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let folder = StoreFolder(in: directory)
        let store = try folder.open()
        let audience = SettledAudience(store: store, size: rows, batch: batch)
        var suspects: [RowCost] = []
        var proven: [RowCost] = []
        for round in 0..<rounds {
            let topic = try await audience.make(round)
            // What both read comes out of the cache.
            _ = try await audience.settle(topic, as: .expired)
            suspects.append(try await audience.settle(topic, as: .suspects).cost)
            proven.append(try await audience.settle(topic, as: .proven).cost)
        }
        try store.close()
        let table = ResultTable(["device tokens", "claim µs/row", "settle µs/row", "CPU µs/row"], isJSON: json)
        let results = ["suspects": RowCost.median(of: suspects), "proven": RowCost.median(of: proven)]
        for name in ["suspects", "proven"] {
            guard let cost = results[name] else { continue }
            table.add([name, figure(cost.claim, 2), figure(cost.settle, 2), figure(cost.processor, 2)])
        }
        func ratio(_ value: (RowCost) -> Double) -> String {
            figure(zip(suspects, proven).map { value($0) / value($1) }.median, 2)
        }
        table.add(["ratio", ratio(\.claim), ratio(\.settle), ratio(\.processor)])
        try table.end(results)
    }
}
