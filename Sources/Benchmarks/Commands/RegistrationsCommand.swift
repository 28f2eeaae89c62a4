import ArgumentParser
import Foundation
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// `herald-bench registrations`: the registry at scale.
struct RegistrationsCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "registrations", abstract: "Measures registering, subscribing and looking up.",
        discussion: """
            In a store of its own, durable: a thousand callers at a time register, so that they share commits, and topics \
            are subscribed to by a thousand registrations in a step. Then single lookups, one after the other, and how much \
            the store's files grew. Then callers with a connection each register through the API of a gateway, and post the \
            same to the same HTTP server answering without work ("echo"); both over TLS. `import` measures imports.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Registrations.") var devices = 1_000_000
    @Option(help: "Topics that each of them subscribes to.") var topics = 5
    @Option(help: "Lookups of each kind.") var lookups = 20_000
    @Option(help: "Callers that register through the API.") var clients = 64
    @Option(help: "Rounds through the API.") var rounds = 3
    @Option(help: "Seconds of each run through the API.") var seconds = 5
    @Flag(help: "Only through the API.") var apiOnly = false

    private static let step = 1000
    private static let project = ProjectID(rawValue: GatewayFiles.project)!

    func validate() throws {
        guard (1000...20_000_000).contains(devices) else { throw ValidationError("--devices is 1000 to 20000000.") }
        guard (0...100).contains(topics) else { throw ValidationError("--topics is 0 to 100.") }
        guard (1...1_000_000).contains(lookups) else { throw ValidationError("--lookups is 1 to 1000000.") }
        guard (1...1000).contains(clients) else { throw ValidationError("--clients is 1 to 1000.") }
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds is 1 to 60.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let table = ResultTable(["what", "figure", "unit"], isJSON: options.json)
        var figures: [String: Double] = [:]
        func note(_ name: String, _ value: Double, _ unit: String, _ digits: Int) {
            table.add([name, figure(value, digits), unit])
            figures["\(name), \(unit)"] = value
        }
        if !apiOnly { try await measureStore(note) }
        try await measureAPI(note)
        try table.end(figures)
    }

    private func measureStore(_ note: (String, Double, String, Int) -> Void) async throws {
        let directory = StoreFolder(in: options.directory)
        var store = try directory.open()
        let empty = try directory.bytes
        let registering = try await timed { try await everyStep { _ = try await Audience.register($0, in: store) } }
        note("registered, new", Double(devices) / registering, "rows/s", 0)
        try store.close()
        let registered = try directory.bytes
        note("a registration", Double(registered - empty) / Double(devices), "bytes", 0)

        store = try directory.open()
        let refreshed = min(devices, 100_000)
        let refreshing = try await timed {
            try await everyStep(upTo: refreshed) { _ = try await Audience.register($0, in: store) }
        }
        note("registered again", Double(refreshed) / refreshing, "rows/s", 0)
        if topics > 0 {
            try await subscribe(in: store) { note("subscribed", $0, "rows/s", 0) }
            try store.close()
            let bytes = Double(try directory.bytes - registered) / Double(devices * topics)
            note("a subscription", bytes, "bytes", 0)
            store = try directory.open()
        }
        for (kind, times) in try await lookUp(in: store) {
            note("lookup by \(kind), p50", times.p50, "µs", 1)
            note("lookup by \(kind), p99", times.p99, "µs", 1)
        }
        try store.close()
    }

    private func measureAPI(_ note: (String, Double, String, Int) -> Void) async throws {
        let bench = try await RegistrationBench(options)
        let pairs = try (0..<rounds).map { round in
            try bench.pair(clients: clients, seconds: seconds, echoFirst: round % 2 == 1)
        }
        func median(_ name: String, _ unit: String, _ digits: Int, _ value: (RegistrationBench.Pair) -> Double) {
            note(name, pairs.map(value).median, unit, digits)
        }
        median("through the API", "rows/s", 0) { $0.gateway.perSecond }
        median("echo", "requests/s", 0) { $0.echo.perSecond }
        median("share of the echo", "1", 2) { $0.ratio }
        median("through the API, p50", "ms", 2) { $0.gateway.latency.p50 / 1000 }
        median("through the API, p99", "ms", 2) { $0.gateway.latency.p99 / 1000 }
        median("through the API, processor", "µs", 1) { $0.gateway.microseconds }
        median("echo, processor", "µs", 1) { $0.echo.microseconds }
        median("processor by the echo's", "1", 2) { $0.cost }
    }

    /// All device numbers, a thousand at a time.
    private func everyStep(upTo end: Int? = nil, _ body: (Range<Int>) async throws -> Void) async throws {
        let end = end ?? devices
        for start in stride(from: 0, to: end, by: Self.step) { try await body(start..<min(start + Self.step, end)) }
    }

    private func subscribe(in store: SQLiteStore, note: (Double) -> Void) async throws {
        // Keys are numbers from 1 in an empty store; a benchmark may know that.
        let subscribing = try await timed {
            for number in 0..<topics {
                let topic = Topic(rawValue: "topic-\(number)")!
                try await everyStep { numbers in
                    let keys = numbers.map { RegistrationKey(rawValue: Int64($0) + 1) }
                    let results = try await store.subscribe(keys, to: topic, at: Audience.now())
                    guard results.count == keys.count else { throw BenchFailure("subscriptions are missing") }
                }
            }
        }
        note(Double(devices * topics) / subscribing)
    }

    private func lookUp(in store: SQLiteStore) async throws -> [(kind: String, times: Percentiles)] {
        var known: [Registration] = []
        for _ in 0..<min(20, devices / Self.step) {
            let start = Int.random(in: 0...(devices - Self.step))
            known += try await Audience.register(start..<start + Self.step, in: store)
        }
        known.shuffle()
        func times(_ body: (Registration) async throws -> Bool) async throws -> Percentiles {
            var histogram = Histogram()
            for number in 0..<lookups {
                let registration = known[number % known.count]
                let begin = ContinuousClock.now
                guard try await body(registration) else { throw BenchFailure("a registration was not found") }
                histogram.add(ContinuousClock.now - begin)
            }
            return histogram.percentiles
        }
        let byToken = try await times { try await store.registration(token: $0.token, in: Self.project) != nil }
        let byID = try await times { try await store.registration($0.id, in: Self.project) != nil }
        return [("token", byToken), ("FID", byID)]
    }

    private func timed(_ body: () async throws -> Void) async throws -> Double {
        try await ContinuousClock().measure(body).seconds
    }
}
