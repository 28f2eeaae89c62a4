import ArgumentParser

/// `herald-bench import`: registrations from a store to a file and from the file into another store.
struct ImportCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Measures exporting and importing registrations, each with a topic.",
        discussion: """
            The `herald` beside this program exports a store to a file (NDJSON), and imports that into an empty store, once \
            in each round. No gateway has the store open.

            With --store postgresql it is imported into an empty database too, of a server on the same cores; "database" is the \
            processor time of the server's processes for each row.
            """)

    @OptionGroup var options: GatewayOptions
    @OptionGroup var stores: StoreOptions
    @Option(help: "Registrations.") var devices = 1_000_000
    @Option(help: "Rounds.") var rounds = 3

    func validate() throws {
        guard (1000...20_000_000).contains(devices) else { throw ValidationError("--devices is 1000 to 20000000.") }
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let table = ResultTable(
            ["what", "rows/s", "µs/row", "database", "peak MiB", "file MB"], isJSON: options.json)
        let transfer = try await RegistrationTransfer(devices, options, stores.store)
        var runs: [String: [RegistrationTransfer.Run]] = [:]
        func note(_ what: String, _ run: RegistrationTransfer.Run) {
            table.add([
                what, figure(run.rowsPerSecond, 0), figure(run.microsecondsPerRow, 1),
                run.databaseMicrosecondsPerRow.map { figure($0, 1) } ?? "", figure(run.peakMiB, 0),
                figure(Double(run.fileBytes) / 1e6, 0),
            ])
            runs[what, default: []].append(run)
        }
        for _ in 0..<rounds {
            note("export", try transfer.export())
            note("import", try await transfer.import())
            if let run = try transfer.importIntoDatabase() { note("import, PostgreSQL", run) }
        }
        for what in ["export", "import", "import, PostgreSQL"] {
            guard let all = runs[what] else { continue }
            table.note(
                "\(what), median: \(figure(all.map(\.rowsPerSecond).median, 0)) rows/s, "
                    + "\(figure(all.map(\.microsecondsPerRow).median, 1)) µs/row")
        }
        try table.end(runs)
    }
}
