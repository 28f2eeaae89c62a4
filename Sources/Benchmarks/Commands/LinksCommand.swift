import ArgumentParser
import Foundation
import Links
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// `herald-bench links`: how fast links are imported, found, opened and made, and what they take.
struct LinksCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "Measures the import, the size, the look-up and the opening of links.",
        discussion: """
            Rows of a CSV file as Google exported them, with suffixes of 17 random characters and about 150 bytes of \
            parameters, go through the import into a store of its own. Then the store is opened anew and asked for links \
            taken at random: by itself, through the directory that redirects use, and for links that the directory has.

            Then the whole gateway serves that store. h2load opens links over HTTP/2 with TLS, a hundred again and again \
            ("hot") and as many as there are samples ("any"), and in the same rounds the same listener with one answer to \
            everything ("constant"). Callers make short links, each another one, and in the same rounds send single messages: \
            both are on the disk before the answer. At last first openings of apps are matched among open clicks.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Links.") var links = 100_000
    @Option(help: "Look-ups of each kind.") var samples = 20_000
    @Option(help: "Look-ups at the same time.") var clients = 32
    @Option(help: "Clients x streams that open links.") var shape = LoadShape(argument: "64x4")!
    @Option(help: "Callers that make links, and that send.") var callers = 64
    @Option(help: "Rounds of each pair.") var rounds = 3
    @Option(help: "Seconds of each run.") var seconds = 5
    @Option(help: "Open clicks.") var clicks = 1_000_000
    @Flag(help: "Measure the store and the clicks alone: no gateway, no h2load.") var noGateway = false

    func validate() throws {
        guard (1000...100_000_000).contains(links) else { throw ValidationError("--links is 1000 to 100000000.") }
        guard (100...10_000_000).contains(samples) else { throw ValidationError("--samples is 100 to 10000000.") }
        guard (1...10_000).contains(clients) else { throw ValidationError("--clients is 1 to 10000.") }
        guard (1...90).contains(callers) else { throw ValidationError("--callers is 1 to 90.") }
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds is 1 to 60.") }
        guard (1000...10_000_000).contains(clicks) else { throw ValidationError("--clicks is 1000 to 10000000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let figures = LinkFigures(isJSON: options.json)
        let folder = StoreFolder(in: options.directory)
        try folder.open().close()
        try await importRows(into: folder, figures)
        try await lookUps(folder, figures)
        if !noGateway {
            let bench = try await LinkBench(folder, options)
            try redirects(bench, figures)
            try creations(bench, figures)
            try bench.process.stop()
        }
        try attribution(figures)
        try figures.end()
    }

    /// Fills the store, and notes what that took.
    private func importRows(into folder: StoreFolder, _ figures: LinkFigures) async throws {
        let empty = try folder.bytes
        let own = ProcessInfo.processInfo.processIdentifier
        let before = try ProcessUsage(of: own)
        let seconds = try await fill(folder) / .seconds(1)
        let used = try ProcessUsage(of: own).processor - before.processor
        figures.note("import", Double(links) / seconds, "rows/s")
        figures.note("import, processor", used.seconds * 1e6 / Double(links), "µs/row")
        let bytes = Double(try folder.bytes - empty) / Double(links)
        figures.note("disk", bytes, "bytes/link")
        figures.note("disk", bytes, "MB/million")
        figures.note("import, peak memory", Double(ProcessUsage.peakBytes(of: own)) / 1e6, "MB")
    }

    // MARK: Look-ups

    private func lookUps(_ folder: StoreFolder, _ figures: LinkFigures) async throws {
        let store = try folder.open()
        let keys = randomKeys
        figures.note("look-up", try await ask(keys, clients: 1) { try await store.link($0) != nil }.percentiles)
        try await rate("look-ups", keys, figures) { try await store.link($0) != nil }
        let unknown = keys.map { LinkKey(prefix: $0.prefix, suffix: $0.suffix + "-") }
        figures.note(
            "look-up of no link", try await ask(unknown, clients: 1) { try await store.link($0) == nil }.percentiles)
        let directory = LinkDirectory(store: store, limit: 4 * samples)
        try await rate("directory, not known", keys, figures) { try await directory.link($0) != nil }
        let hot = keys.prefix(100)
        for key in hot { _ = try await directory.link(key) }
        let known = (0..<samples).map { hot[$0 % hot.count] }
        try await rate("directory, known", known, figures) { try await directory.link($0) != nil }
        try store.close()
    }

    private var randomKeys: [LinkKey] { (0..<samples).map { _ in LinkRows.key(Int.random(in: 0..<links)) } }

    /// Looks up at the same time, and notes how many in a second.
    private func rate(
        _ name: String, _ keys: [LinkKey], _ figures: LinkFigures,
        _ find: @escaping @Sendable (LinkKey) async throws -> Bool
    ) async throws {
        let clock = ContinuousClock()
        let began = clock.now
        let times = try await ask(keys, clients: clients, find)
        figures.note("\(name), \(clients) at a time", Double(keys.count) / ((clock.now - began) / .seconds(1)), "/s")
        figures.note("\(name), \(clients) at a time", times.percentiles)
    }

    private func ask(
        _ keys: [LinkKey], clients: Int, _ find: @escaping @Sendable (LinkKey) async throws -> Bool
    ) async throws -> Histogram {
        try await withThrowingTaskGroup(of: [Duration].self) { group in
            for client in 0..<clients {
                group.addTask {
                    var times: [Duration] = []
                    let clock = ContinuousClock()
                    for index in stride(from: client, to: keys.count, by: clients) {
                        let began = clock.now
                        guard try await find(keys[index]) else { throw BenchFailure("a link was not as expected") }
                        times.append(clock.now - began)
                    }
                    return times
                }
            }
            var histogram = Histogram()
            for try await times in group { for time in times { histogram.add(time) } }
            return histogram
        }
    }

    // MARK: Gateway

    /// Opens links at the gateway and at the listener alone; who goes first takes turns.
    private func redirects(_ bench: LinkBench, _ figures: LinkFigures) throws {
        let any = randomKeys
        for (name, keys) in [("hot", Array(any.prefix(100))), ("any", any)] {
            let pairs = try (0..<rounds).map { round in
                try bench.redirects(keys, shape, seconds: seconds, constantFirst: round % 2 == 1)
            }
            func median(_ value: (LinkBench.Pair) -> Double) -> Double { pairs.map(value).median }
            figures.note("redirects, \(name)", median(\.gateway.requestsPerSecond), "/s")
            figures.note(
                "redirects, \(name)", median(\.gateway.latency.p50), p99: median(\.gateway.latency.p99), "µs")
            figures.note("redirects, \(name), processor", median(\.gatewayMicroseconds), "µs/request")
            figures.note("constant, \(name)", median(\.constant.requestsPerSecond), "/s")
            figures.note(
                "constant, \(name)", median(\.constant.latency.p50), p99: median(\.constant.latency.p99), "µs")
            figures.note("constant, \(name), processor", median(\.constantMicroseconds), "µs/request")
            figures.note(
                "redirects, \(name), ratio", median { $0.gateway.requestsPerSecond / $0.constant.requestsPerSecond },
                "of constant")
        }
        figures.note(
            "gateway, resident after redirects", Double(ProcessUsage.residentBytes(of: bench.process.id)) / 1e6, "MB")
        figures.note(
            "gateway, peak memory", Double(ProcessUsage.peakBytes(of: bench.process.id)) / 1e6, "MB")
    }

    /// Makes links and sends messages in turn.
    private func creations(_ bench: LinkBench, _ figures: LinkFigures) throws {
        var (creations, sends): ([PostReport], [PostReport]) = ([], [])
        for round in 0..<rounds {
            if round % 2 == 1 { sends.append(try bench.sends(clients: callers, seconds: seconds)) }
            creations.append(try bench.creations(clients: callers, seconds: seconds))
            if round % 2 == 0 { sends.append(try bench.sends(clients: callers, seconds: seconds)) }
        }
        for (name, reports) in [("links made", creations), ("messages sent", sends)] {
            figures.note("\(name), \(callers) at a time", reports.map(\.perSecond).median, "/s")
            figures.note(
                "\(name), \(callers) at a time", reports.map(\.latency.p50).median,
                p99: reports.map(\.latency.p99).median, "µs")
            figures.note("\(name), processor", reports.map(\.microseconds).median, "µs/request")
        }
        figures.note(
            "links made, ratio", zip(creations, sends).map { $0.perSecond / $1.perSecond }.median, "of messages sent")
    }

    // MARK: Attribution

    /// Matches first openings, with no other click open and with many.
    private func attribution(_ figures: LinkFigures) throws {
        let own = ProcessInfo.processInfo.processIdentifier
        let alone = try OpenClicks(count: 0)
        let before = ProcessUsage.residentBytes(of: own)
        let crowded = try OpenClicks(count: clicks)
        let grown = ProcessUsage.residentBytes(of: own) - before
        let pairs = try (0..<rounds).map { _ in
            (alone: try alone.find(samples: samples), crowded: try crowded.find(samples: samples))
        }
        for (count, results) in [(0, pairs.map(\.alone)), (clicks, pairs.map(\.crowded))] {
            for (name, values) in [("found", results.map(\.found)), ("none", results.map(\.missing))] {
                figures.note(
                    "attribution, \(count) open clicks, \(name)", values.map(\.p50).median,
                    p99: values.map(\.p99).median, "µs")
            }
        }
        figures.note(
            "attribution, ratio", pairs.map { $0.crowded.found.mean / $0.alone.found.mean }.median, "of 0 open clicks")
        figures.note("open clicks, memory", Double(grown) / Double(clicks), "bytes/click")
    }

    // MARK: Import

    private func fill(_ folder: StoreFolder) async throws -> Duration {
        let store = try folder.open()
        var file = LinkRows(count: links)
        var reader = try CSVReader { count in file.next(count) }
        let settings = LinkSettings(prefixes: [LinkPrefix(host: LinkRows.host)], targets: ["shop.example"])
        guard let id = ProjectID(rawValue: GatewayFiles.project) else { throw BenchFailure("no project") }
        let rows = try LinkRowReader(
            project: Project(id: id, number: 1, apps: [], links: settings), settings: settings, reading: &reader,
            mapping: [:], now: Timestamp(seconds: 1_700_000_000))
        let clock = ContinuousClock()
        let began = clock.now
        let job = LinkFileImport(
            store: store, rows: rows, pace: { ImportPace(chunkTime: .seconds(1), rest: .zero) })
        let summary = try await job.run(
            &reader, refuse: { throw BenchFailure("line \($0.line): \($0.reason)") }, progress: { _ in })
        guard summary.created == links else { throw BenchFailure("only \(summary.created) links were made") }
        let duration = clock.now - began
        try store.close()
        return duration
    }
}
