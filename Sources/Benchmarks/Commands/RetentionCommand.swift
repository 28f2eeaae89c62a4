import ArgumentParser
import Foundation
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// `herald-bench retention`: days of single sends, with the removal of what is out of date after each.
struct RetentionCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "Measures what single sends leave in a store, day by day, and what removing them costs.",
        discussion: """
            Days of single sends are accepted, claimed and settled in a store of its own, with times of the past. After \
            each day what is out of date by then is removed as the gateway does it, step by step, and the store is opened \
            anew and asked for messages and deliveries taken at random. At last all payloads go.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Messages of all days.") var messages = 1_000_000
    @Option(help: "Days.") var days = 10
    @Option(help: "Days for which a payload is kept.") var payloadDays = 2
    @Option(help: "Days for which a message is kept.") var ledgerDays = 5
    @Option(help: "Registered devices.") var devices = 100_000
    @Option(help: "Messages in a transaction.") var batch = 1000
    @Option(help: "Questions of each kind after a day.") var samples = 200

    private static let project = ProjectID(rawValue: GatewayFiles.project)!

    func validate() throws {
        guard (1...365).contains(days) else { throw ValidationError("--days is 1 to 365.") }
        guard (days...1_000_000_000).contains(messages) else {
            throw ValidationError("--messages is --days to 1000000000.")
        }
        guard (0...365).contains(payloadDays) else { throw ValidationError("--payload-days is 0 to 365.") }
        guard (1...365).contains(ledgerDays) else { throw ValidationError("--ledger-days is 1 to 365.") }
        guard (1...1_000_000).contains(devices) else { throw ValidationError("--devices is 1 to 1000000.") }
        guard (1...10_000).contains(batch) else { throw ValidationError("--batch is 1 to 10000.") }
        guard (1...10_000).contains(samples) else { throw ValidationError("--samples is 1 to 10000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let folder = StoreFolder(in: options.directory)
        var store = try folder.open()
        var registrations: [Registration] = []
        for first in stride(from: 0, to: devices, by: 1000) {
            registrations += try await Audience.register(first..<min(first + 1000, devices), in: store)
        }
        try store.close()
        let table = ResultTable(RetentionDay.titles, isJSON: options.json)
        let (empty, perDay) = (try folder.bytes, messages / days)
        let first = Audience.now() + .seconds(-86_400 * (days + 1))
        var results: [RetentionDay] = []
        for number in 0..<days {
            let (start, end) = (first + .seconds(86_400 * number), first + .seconds(86_400 * (number + 1)))
            store = try folder.open()
            var day = RetentionDay(number: number + 1)
            let singles = try SettledSingles(store: store, registrations: registrations, batch: batch)
            let (ids, cost) = try await measured {
                try await singles.play(perDay, from: start, over: .seconds(86_400), samples: samples)
            }
            (day.rate, day.processor) = (Double(perDay) / cost.time, cost.processor * 1e6 / Double(perDay))
            try await remove(from: store, at: end, into: &day)
            try store.close()
            day.note(bytes: try folder.bytes - empty, messages: perDay * min(number + 1, ledgerDays))
            store = try folder.open()
            try await ask(store, ids, registrations, into: &day)
            try store.close()
            table.add(day.cells)
            results.append(day)
        }
        let left = perDay * min(days, ledgerDays)
        let bytes = try await withoutPayloads(folder, at: first + .seconds(86_400 * days)) - empty
        table.note("\(left) messages without payloads: \(figure(Double(bytes) / Double(left), 1)) bytes each")
        try table.end(results)
    }

    /// Removes all payloads, and what is free in the file then.
    ///
    /// - Returns: the bytes of the store's files.
    private func withoutPayloads(_ folder: StoreFolder, at now: Timestamp) async throws -> Int {
        let store = try folder.open()
        var day = RetentionDay(number: 0)
        try await remove(from: store, at: now + .seconds(60), payloadDays: 0, into: &day)
        try store.close()
        return try folder.bytes
    }

    private func remove(
        from store: SQLiteStore, at now: Timestamp, payloadDays: Int? = nil, into day: inout RetentionDay
    ) async throws {
        let policy = RetentionPolicy(ledgerDays: ledgerDays, payloadDays: payloadDays ?? self.payloadDays)
        var steps = Histogram()
        for part in RetentionPart.allCases {
            while true {
                let start = ContinuousClock.now
                let progress = try await store.remove(part, by: RetentionRules(standard: policy), at: now)
                if progress.isDone { break }
                steps.add(ContinuousClock.now - start)
                if part == .messages { day.removed += progress.count }
            }
        }
        day.steps = steps.percentiles
    }

    private func ask(
        _ store: SQLiteStore, _ ids: [MessageID], _ registrations: [Registration], into day: inout RetentionDay
    ) async throws {
        let project = Self.project
        day.report = try await times {
            guard let id = ids.randomElement() else { return false }
            return try await store.report(id, in: project)?.recipients == 1
        }
        day.toDevice = try await times {
            guard let registration = registrations.randomElement() else { return false }
            _ = try await store.deliveries(to: registration.id, in: project, after: nil, limit: 10)
            return true
        }
        day.newest = try await times {
            try await !store.reports(in: project, after: nil, limit: 50).elements.isEmpty
        }
    }

    private func times(_ body: () async throws -> Bool) async throws -> Percentiles {
        var histogram = Histogram()
        for _ in 0..<samples {
            let start = ContinuousClock.now
            guard try await body() else { throw BenchFailure("the store gave something else than was put in") }
            histogram.add(ContinuousClock.now - start)
        }
        return histogram.percentiles
    }

    private func measured<Value>(
        _ body: () async throws -> Value
    ) async throws -> (Value, cost: (time: Double, processor: Double)) {
        let (start, begin) = (ContinuousClock.now, clock())
        let value = try await body()
        return (value, ((ContinuousClock.now - start).seconds, Double(clock() - begin) / Double(CLOCKS_PER_SEC)))
    }
}
