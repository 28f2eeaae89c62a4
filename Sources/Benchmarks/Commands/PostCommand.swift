import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// A crowd of callers that post, each time another body: h2load has one for all.
struct PostCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Posts bodies that differ, and prints how it went.", shouldDisplay: false)

    /// What a number takes the place of in the body.
    static let place = "@number@"
    /// What 64 random hex digits take the place of: another device token in each body.
    static let devicePlace = "@device@"

    @Option(help: "Where to.") var address: String
    @Option(help: "An API key.") var key: String
    @Option(help: "The body, with \(Self.place) in it.") var body: String
    @Option(help: "Requests under way.") var clients: Int
    @Option(help: "How long.") var seconds: Int
    @Flag(help: "HTTP/1.1: a connection for each request under way, as many apps have.") var http1 = false

    func run() throws {
        try waiting { try await post() }
    }

    private func post() async throws {
        var configuration = HTTPClient.Configuration(certificateVerification: .none)
        configuration.timeout.connect = .seconds(10)
        if http1 {
            configuration.httpVersion = .http1Only
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = clients
        }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let run = Int.random(in: 0..<1_000_000_000)
        let began = ContinuousClock.now
        let latency = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for caller in 0..<clients {
                group.addTask { try await call(client, "\(run)-\(caller)", until: began + .seconds(seconds)) }
            }
            var histogram = Histogram()
            var count = 0
            for try await times in group {
                count += times.count
                for time in times { histogram.add(time) }
            }
            return (count, histogram.percentiles)
        }
        let duration = ContinuousClock.now - began
        try await client.shutdown()
        let report = PostReport(requests: latency.0, seconds: duration.seconds, latency: latency.1)
        show(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    private static func deviceToken() -> String {
        (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// One caller: posts one body after the other.
    private func call(
        _ client: HTTPClient, _ name: String, until end: ContinuousClock.Instant
    ) async throws -> [Duration] {
        var times: [Duration] = []
        while ContinuousClock.now < end {
            var request = HTTPClientRequest(url: address)
            request.method = .POST
            request.headers.add(name: "authorization", value: "Bearer \(key)")
            request.headers.add(name: "content-type", value: "application/json")
            let text = body.replacing(Self.place, with: "\(name)-\(times.count)")
                .replacing(Self.devicePlace, with: Self.deviceToken())
            request.body = .bytes(ByteBuffer(string: text))
            let began = ContinuousClock.now
            let response = try await client.execute(request, timeout: .seconds(60))
            let answer = try await response.body.collect(upTo: 1 << 20)
            times.append(ContinuousClock.now - began)
            guard response.status == .ok else {
                throw BenchFailure("\(address) was answered \(response.status): \(String(buffer: answer))")
            }
        }
        return times
    }
}

/// How posting went.
struct PostReport: Codable {
    var requests: Int
    var seconds: Double
    /// In microseconds.
    var latency: Percentiles
    /// Processor time of the gateway for each request.
    var microseconds = 0.0

    var perSecond: Double { Double(requests) / seconds }
}
