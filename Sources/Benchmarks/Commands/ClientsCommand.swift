import ArgumentParser
import Foundation

/// `herald-bench clients`: a crowd of backends that send single messages, until each has sent its share.
struct ClientsCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "clients", abstract: "Lets a crowd of clients send, and looks for every message in the reports.",
        discussion: """
            h2load sends single messages over HTTP/2 with TLS from so many connections, each with one request under way \
            unless --streams says otherwise. An answer other than 200 ends the run. Then the reports of all messages are \
            read: each answer must have a message of its own, and each message one recipient, accepted by the sink.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Clients, each with a connection of its own.") var clients = 64
    @Option(help: "Messages of each client.") var sends = 10_000
    @Option(help: "Requests that a client has under way.") var streams = 1
    @Option(help: "Rounds.") var rounds = 1

    func validate() throws {
        guard (1...1000).contains(clients) else { throw ValidationError("--clients is 1 to 1000.") }
        guard (1...100_000).contains(sends) else { throw ValidationError("--sends is 1 to 100000.") }
        guard (1...100).contains(streams) else { throw ValidationError("--streams is 1 to 100.") }
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private struct Result: Encodable {
        let sends: Int
        let sendsPerSecond: Double
        /// In microseconds.
        let latency: Percentiles
        /// Answers without a message, or messages without an accepted push.
        let lost: Int
        /// Pushes that came more than once.
        let repeats: Int
        /// Processor time of the gateway for each message, its delivery included.
        let microsecondsPerMessage: Double
    }

    private func measure() async throws {
        let table = ResultTable(
            ["clients x sends", "sends/s", "p50 ms", "p90 ms", "p99 ms", "most ms", "lost", "repeats", "µs/send"],
            isJSON: options.json)
        var results: [Result] = []
        for _ in 0..<rounds {
            let result = try await round()
            table.add(cells(result))
            results.append(result)
        }
        try table.end(results)
        let lost = results.reduce(0) { $0 + $1.lost }
        guard lost == 0 else { throw BenchFailure("\(lost) messages are lost") }
    }

    /// Each on a store of its own.
    private func round() async throws -> Result {
        let bench = try await GatewayBench(GatewayBench.Setup(sizes: [1000], isEncrypted: true), options)
        _ = try await bench.sink.takeReport()
        let load = try IngestLoad(
            bench.scratch, client: bench.client, token: bench.tokens[0], cores: options.sinkCores)
        let before = try ProcessUsage(of: bench.process.id)
        let sent = try load.run(
            clients: clients, streams: streams, .requests(clients * sends), isEncrypted: true)
        let books = try await bench.client.books(within: GatewayBench.broadcastLimit)
        let after = try ProcessUsage(of: bench.process.id)
        guard sent.requests == clients * sends else {
            throw BenchFailure("of \(clients * sends) requests \(sent.requests) were answered")
        }
        return Result(
            sends: sent.requests, sendsPerSecond: sent.requestsPerSecond, latency: sent.latency,
            lost: sent.requests - books.delivered, repeats: try await bench.sink.takeReport().pushes - books.delivered,
            microsecondsPerMessage: (after.processor - before.processor).seconds * 1e6 / Double(sent.requests))
    }

    private func cells(_ result: Result) -> [String] {
        let latencies = [result.latency.p50, result.latency.p90, result.latency.p99, result.latency.maximum]
        return ["\(clients)x\(sends)", figure(result.sendsPerSecond, 0)] + latencies.map { figure($0 / 1000, 2) } + [
            String(result.lost), String(result.repeats), figure(result.microsecondsPerMessage, 1),
        ]
    }
}

extension GatewayClient {
    /// What the reports of all messages say.
    struct Books {
        /// Messages that are complete with one recipient, who accepted.
        var delivered = 0
    }

    private struct Page: Decodable {
        let messages: [Listed]
        let nextPageToken: String?

        struct Listed: Decodable {
            let name: String
            let state: String
            let ledger: Report.Ledger
        }
    }

    private static let completeState = "COMPLETE"

    /// Waits until nothing is under way any more, then reads the report of every message.
    func books(within limit: Duration) async throws -> Books {
        let begin = ContinuousClock.now
        while try await !page("filter=state%3DACTIVE&pageSize=1").messages.isEmpty {
            guard ContinuousClock.now - begin < limit else { throw BenchFailure("not all was sent within \(limit)") }
            // There is no signal for it; asking seldom leaves the gateway alone.
            try await Task.sleep(for: .milliseconds(200))
        }
        var books = Books()
        var names: Set<String> = []
        var token: String?
        repeat {
            let page = try await page("pageSize=1000" + (token.map { "&pageToken=\($0)" } ?? ""))
            for message in page.messages where names.insert(message.name).inserted {
                let ledger = message.ledger
                if message.state == Self.completeState, ledger.recipients == 1, ledger.accepted == 1 {
                    books.delivered += 1
                }
            }
            token = page.nextPageToken
        } while token != nil
        return books
    }

    private func page(_ query: String) async throws -> Page {
        try await HTTP.get("\(messagesAddress)?\(query)", key: key, as: Page.self)
    }
}
