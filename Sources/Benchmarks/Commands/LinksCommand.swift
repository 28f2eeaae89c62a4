import ArgumentParser
import Foundation
import Links
import PushModel
import SQLiteStorage
import Store

/// `herald-bench links`: how fast links are imported, what they take, and how long it takes to find one.
struct LinksCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "Measures the import, the size and the look-up of links.",
        discussion: """
            Rows of a CSV file as Google exported them, with suffixes of 17 random characters and about 150 bytes of \
            parameters, go through the import into a store of its own. Then the store is opened anew and asked for links \
            taken at random: by itself, through the directory that redirects use, and for links that the directory has.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Links.") var links = 1_000_000
    @Option(help: "Look-ups of each kind.") var samples = 20_000
    @Option(help: "Look-ups at the same time.") var clients = 32

    func validate() throws {
        guard (1000...100_000_000).contains(links) else { throw ValidationError("--links is 1000 to 100000000.") }
        guard (100...10_000_000).contains(samples) else { throw ValidationError("--samples is 100 to 10000000.") }
        guard (1...10_000).contains(clients) else { throw ValidationError("--clients is 1 to 10000.") }
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
        try folder.open().close()
        let empty = try folder.bytes
        let own = ProcessInfo.processInfo.processIdentifier
        let seconds = try await fill(folder) / .seconds(1)
        note("import", Double(links) / seconds, "rows/s")
        let million = 1_000_000 / Double(links)
        note("disk", Double(try folder.bytes - empty) / Double(links), "bytes/link")
        note("disk", Double(try folder.bytes - empty) / 1e6 * million, "MB/million")
        note("import, peak memory", Double(ProcessUsage.peakBytes(of: own)) / 1e6, "MB")

        let store = try folder.open()
        let keys = (0..<samples).map { _ in LinkRows.key(Int.random(in: 0..<links)) }
        let alone = try await ask(keys, clients: 1) { try await store.link($0) != nil }
        note("look-up", alone.percentiles.p50, p99: alone.percentiles.p99, "µs")
        try await rate("look-ups", keys, note: note) { try await store.link($0) != nil }
        let unknown = keys.map { LinkKey(prefix: $0.prefix, suffix: $0.suffix + "-") }
        let missing = try await ask(unknown, clients: 1) { try await store.link($0) == nil }
        note("look-up of no link", missing.percentiles.p50, p99: missing.percentiles.p99, "µs")
        let directory = LinkDirectory(store: store, limit: 4 * samples)
        try await rate("directory, not known", keys, note: note) { try await directory.link($0) != nil }
        let hot = keys.prefix(100)
        for key in hot { _ = try await directory.link(key) }
        let known = (0..<samples).map { hot[$0 % hot.count] }
        try await rate("directory, known", known, note: note) { try await directory.link($0) != nil }
        try store.close()
        try table.end(figures)
    }

    /// Looks up at the same time, and notes how many in a second.
    private func rate(
        _ name: String, _ keys: [LinkKey], note: (String, Double, Double?, String) -> Void,
        _ find: @escaping @Sendable (LinkKey) async throws -> Bool
    ) async throws {
        let clock = ContinuousClock()
        let began = clock.now
        let times = try await ask(keys, clients: clients, find)
        note("\(name), \(clients) at a time", Double(keys.count) / ((clock.now - began) / .seconds(1)), nil, "/s")
        note("\(name), \(clients) at a time", times.percentiles.p50, times.percentiles.p99, "µs")
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

/// The rows of a file of links, made while they are read.
private struct LinkRows {
    static let host = "go.example.com"
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    let count: Int
    private var row = 0
    private var rest: [UInt8] = []

    init(count: Int) {
        self.count = count
    }

    /// At most `count` bytes of the file.
    mutating func next(_ count: Int) -> [UInt8] {
        while rest.count < count, row < self.count {
            rest.append(contentsOf: Self.line(row).utf8)
            row += 1
        }
        defer { rest.removeFirst(min(count, rest.count)) }
        return Array(rest.prefix(count))
    }

    /// The key of a row: 17 characters that follow from its number and look random.
    static func key(_ row: Int) -> LinkKey {
        var state = UInt64(row) &* 0x9e37_79b9_7f4a_7c15
        var suffix: [UInt8] = []
        for _ in 0..<17 {
            state = (state ^ state >> 31) &* 0xbf58_476d_1ce4_e5b9
            state ^= state >> 29
            suffix.append(alphabet[Int(state % 62)])
        }
        return LinkKey(prefix: host, suffix: String(decoding: suffix, as: UTF8.self))
    }

    private static func line(_ row: Int) -> String {
        let (link, path) = ("https://\(host)/\(key(row).suffix)", "https://shop.example/products/\(row)?ref=mail")
        return "\(link),\(path),com.example.shop,,,com.example.shop,,,,,1234567890,,,,Offer \(row),,,newsletter,email,"
            + "spring_sale,,,,,,,false,Offer \(row),2024-03-01T12:00:00Z\r\n"
    }
}
