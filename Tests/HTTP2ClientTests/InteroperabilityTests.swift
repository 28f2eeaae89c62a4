import Foundation
import TestSupport
import Testing

@testable import HTTP2Client

/// Thousands of pushes against Python's h2, which holds the client to the letter of HTTP/2.
///
/// Serialized: a server of this kind takes a core.
@Suite(
    .serialized, .enabled(if: Tool.hasPythonH2, "needs Python with the h2 library: see HERALD_PYTHON"),
    .timeLimit(.minutes(5)))
struct InteroperabilityTests {
    private static let pushes = 2000

    /// Sends the pushes and returns how they ended, with the server's view.
    private func exchange(
        _ behaviour: H2Server.Behaviour, adjust: (inout PoolConfiguration) -> Void = { _ in }
    ) async throws -> ([Exchange], H2Server.Report) {
        let server = try await H2Server(behaviour)
        let exchanges = try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.connectionLimit = 3
            adjust(&configuration)
            let pool = try engine.openPool(configuration)
            let exchanges = await pool.exchange((0..<Self.pushes).map(Request.push))
            await pool.close(within: .seconds(5))
            return exchanges
        }
        #expect(exchanges.count == Self.pushes)
        return (exchanges, try await server.report())
    }

    private static let orderly: [H2Server.Behaviour] = [
        H2Server.Behaviour(testDescription: "plain"),
        H2Server.Behaviour(testDescription: "tiny windows", windows: [1, 20, 100]),
        H2Server.Behaviour(testDescription: "one stream", streams: [1]),
        H2Server.Behaviour(testDescription: "no HPACK table", tables: [0]),
        H2Server.Behaviour(
            testDescription: "settings flap", streams: [1, 2, 10, 100], windows: [1, 50, 1000, 65_535],
            tables: [0, 100, 4096, 65_536], frames: [16_384, 65_536], flapEvery: 7, ping: 0.05),
        H2Server.Behaviour(testDescription: "refusals", reject: 0.5, refuse: 0.05, reset: 0.05),
    ]

    @Test(arguments: orderly) func everyPushEndsAsTheServerSaysItDid(behaviour: H2Server.Behaviour) async throws {
        let (exchanges, report) = try await exchange(behaviour)
        #expect(report.violations == [])
        let statuses = Dictionary(grouping: exchanges.compactMap(\.status)) { String($0) }.mapValues(\.count)
        #expect(statuses == report.statuses)
        #expect(exchanges.count { $0.notSent?.kind == .refused } == report.refused)
        #expect(exchanges.count { $0.unanswered?.kind == .reset } == report.reset)
        #expect(statuses.values.reduce(0, +) + report.refused + report.reset == Self.pushes)
        #expect(report.cancelled == 0)
        #expect(report.goodbyes == report.connections)
        for case .answered(let response) in exchanges {
            #expect(response.header("apns-unique-id") != nil)
            #expect(response.status == 200 || response.body.starts(with: Array("{\"reason\":".utf8)))
        }
    }

    @Test func goAwayAfterGoAwayLosesNothing() async throws {
        let behaviour = H2Server.Behaviour(testDescription: "GOAWAY", streams: [5, 50], goAwayAfter: 60)
        let (exchanges, report) = try await exchange(behaviour)
        #expect(report.violations == [])
        #expect(report.connections > 10)
        #expect(exchanges.compactMap(\.status).count == report.statuses.values.reduce(0, +))
        // Whatever has no answer was not processed, and is known not to have been.
        let others = exchanges.filter { $0.status == nil && $0.notSent?.kind != .refused }
        #expect(others.isEmpty, "\(others)")
        // Some may not even have left when the connection was drained.
        #expect(exchanges.count { $0.notSent != nil } >= report.beyond)
        #expect(report.beyond > 0)
    }

    @Test(arguments: 1...4) func aServerThatGoesMadLeavesNoPushWithoutItsEnd(seed: Int) async throws {
        let behaviour = H2Server.Behaviour(testDescription: "mad", seed: seed, streams: [20], garbageAfter: 40)
        // A frame that never ends looks like silence.
        let (exchanges, report) = try await exchange(behaviour) { configuration in
            configuration.pingInterval = .milliseconds(500)
            configuration.pingTimeout = .seconds(1)
        }
        #expect(report.violations == [])
        #expect(report.connections > 10)
        #expect(exchanges.contains { $0.status == 200 })
        #expect(exchanges.contains { $0.unanswered != nil })
    }
}

extension Request {
    /// A push as APNS builds it: what is secret is never indexed, what changes each time only once, for its name.
    static func push(_ number: Int) -> Request {
        let id = UUID().uuidString.lowercased()
        let token = String(repeating: "0", count: 56) + String(format: "%08x", number)
        return Request(
            head: pushHead, path: "/3/device/\(token)",
            fields: [HeaderField("apns-id", id, indexing: .first)], body: Array(#"{"aps":{},"id":"\#(id)"}"#.utf8),
            isUrgent: false)
    }

    private static let pushHead = RequestHead(
        method: "POST",
        fields: [
            HeaderField("authorization", "bearer " + String(repeating: "a", count: 240), indexing: .never),
            HeaderField("apns-topic", "com.example.app"), HeaderField("apns-push-type", "alert"),
            HeaderField("apns-priority", "10"), HeaderField("apns-expiration", "1800000000", indexing: .first),
            HeaderField("apns-collapse-id", "news", indexing: .first),
        ])
}
