import ArgumentParser
import Foundation
import PushModel
import SQLiteStorage
import Store

/// `herald-bench registrations`: the registry at scale.
struct RegistrationsCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "registrations", abstract: "Measures registering, subscribing and looking up.",
        discussion: """
            In a store of its own, durable: a thousand callers at a time register, so that they share commits, and topics \
            are subscribed to by a thousand registrations in a step. Then single lookups, one after the other, and how much \
            the store's files grew. At last the `herald` beside this program exports so many registrations from a store to \
            a file and imports them into an empty one.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Registrations.") var devices = 1_000_000
    @Option(help: "Topics that each of them subscribes to.") var topics = 5
    @Option(help: "Lookups of each kind.") var lookups = 20_000

    private static let step = 1000
    private static let project = ProjectID(rawValue: GatewayFiles.project)!

    func validate() throws {
        guard (1000...20_000_000).contains(devices) else { throw ValidationError("--devices is 1000 to 20000000.") }
        guard (0...100).contains(topics) else { throw ValidationError("--topics is 0 to 100.") }
        guard (1...1_000_000).contains(lookups) else { throw ValidationError("--lookups is 1 to 1000000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let table = ResultTable(["what", "figure", "unit"], isJSON: options.json)
        var figures: [String: Double] = [:]
        func note(_ name: String, _ value: Double, _ unit: String, digits: Int = 0) {
            table.add([name, figure(value, digits), unit])
            figures["\(name), \(unit)"] = value
        }
        let directory = StoreFolder(in: options.directory)
        var store = try directory.open()
        let empty = try directory.bytes
        let registering = try await timed { try await everyStep { _ = try await Audience.register($0, in: store) } }
        note("registered, new", Double(devices) / registering, "rows/s")
        try store.close()
        let registered = try directory.bytes
        note("a registration", Double(registered - empty) / Double(devices), "bytes")

        store = try directory.open()
        let refreshed = min(devices, 100_000)
        let refreshing = try await timed {
            try await everyStep(upTo: refreshed) { _ = try await Audience.register($0, in: store) }
        }
        note("registered again", Double(refreshed) / refreshing, "rows/s")
        if topics > 0 {
            try await subscribe(in: store) { note("subscribed", $0, "rows/s") }
            try store.close()
            let bytes = Double(try directory.bytes - registered) / Double(devices * topics)
            note("a subscription", bytes, "bytes")
            store = try directory.open()
        }
        for (kind, times) in try await lookUp(in: store) {
            note("lookup by \(kind), p50", times.p50, "µs", digits: 1)
            note("lookup by \(kind), p99", times.p99, "µs", digits: 1)
        }
        try store.close()
        let transfer = await transfer()
        if case .success(let rates) = transfer {
            note("exported", rates.exported, "rows/s")
            note("imported", rates.imported, "rows/s")
        }
        // What was measured is told even if the last step failed.
        try table.end(figures)
        _ = try transfer.get()
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

    /// Through `herald registration export` and `import`: rows in a second, or what went wrong.
    private func transfer() async -> Result<(exported: Double, imported: Double), any Error> {
        do {
            return .success(try await RegistrationTransfer(options: options).rates(devices))
        } catch {
            return .failure(error)
        }
    }
}
