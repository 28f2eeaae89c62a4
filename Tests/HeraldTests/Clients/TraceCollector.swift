import AsyncHTTPClient
import Foundation
import NIOCore
import TestSupport
import Testing

/// A collector of OpenTelemetry's, as a script beside the test.
struct TraceCollector {
    /// A span as it was read there.
    struct Span: Decodable {
        struct Link: Decodable, Hashable {
            var trace: String
            var span: String
            var state: String
        }

        /// The one value of an attribute that tests look at.
        enum Value: Decodable, Hashable {
            case text(String)
            case number(Int)

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(Int.self) {  // Otherwise it is a text.
                    self = .number(number)
                } else {
                    self = .text(try container.decode(String.self))
                }
            }
        }

        var service: String
        var trace: String
        var span: String
        var parent: String
        var state: String
        var name: String
        var kind: Int
        var status: Int
        var message: String
        var attributes: [String: Value]
        var links: [Link]

        /// Whether it leads to another one.
        func leads(to other: Span) -> Bool { links.contains { $0.trace == other.trace && $0.span == other.span } }
    }

    /// Where it listens.
    let url: String
    private let process: ChildProcess

    /// Starts it.
    static func start(_ arguments: String...) async throws -> TraceCollector {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/collector.py")
        let process = try Python.tracing.start([script.path()] + arguments)
        let line = try #require(await process.output.first(containing: "listening "))
        return TraceCollector(url: "http://127.0.0.1:" + line.split(separator: " ").last!, process: process)
    }

    /// Waits for a line of it.
    func line(containing text: String) async -> String? { await process.output.first(containing: text) }

    /// What it has printed.
    var lines: [String] { process.output.lines }

    /// What it has.
    func spans() async throws -> [Span] {
        let answer = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: url + "/spans"), timeout: TimeAmount(.longerThanAnyTest))
        let body = try await answer.body.collect(upTo: 64 << 20)
        return try JSONDecoder().decode([Span].self, from: Data(body.readableBytesView))
    }

    /// Ends it.
    func end() async {
        process.signal(SIGKILL)
        _ = await process.status()
    }
}
