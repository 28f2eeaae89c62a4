import Foundation
import Logging
import Testing

@testable import HTTP2Client

/// Everything a batch brings back, as it comes.
struct Submitted {
    private let count: Int
    private let completions: AsyncStream<[RequestCompletion]>

    /// Submits; returns once the queue has taken everything.
    init(_ requests: [Request], to pool: ConnectionPool) async {
        count = requests.count
        let (completions, continuation) = AsyncStream.makeStream(of: [RequestCompletion].self)
        self.completions = completions
        await pool.submit(requests) { continuation.yield($0) }
    }

    /// How each request ended, in order of the requests. Each must end exactly once.
    func exchanges() async -> [Exchange] {
        var ends: [Int: Exchange] = [:]
        guard count > 0 else { return [] }
        for await batch in completions {
            #expect(!batch.isEmpty)
            for completion in batch {
                #expect(ends.updateValue(completion.exchange, forKey: completion.index) == nil, "ended twice")
            }
            if ends.count == count { break }
        }
        return (0..<count).compactMap { ends[$0] }
    }
}

extension ConnectionPool {
    /// What a request is told when no dial succeeds. On a busy machine its time may be up before the first dial has
    /// ended: then another one asks.
    func dialFailure() async throws -> TransportFailure {
        while true {
            let failure = try #require(await exchange([.get]).first?.notSent)
            if failure.kind != .timedOut { return failure }
        }
    }

    /// Submits and waits for all ends.
    func exchange(_ requests: [Request]) async -> [Exchange] {
        await Submitted(requests, to: self).exchanges()
    }
}

extension Exchange {
    var status: Int? {
        if case .answered(let response) = self { response.status } else { nil }
    }

    var notSent: TransportFailure? {
        if case .notSent(let failure) = self { failure } else { nil }
    }

    var unanswered: TransportFailure? {
        if case .unanswered(let failure) = self { failure } else { nil }
    }
}

extension Request {
    static let get = Request(method: "GET", path: "/hello", headers: [], body: [], isUrgent: false)

    static func post(_ body: String = "{\"aps\":{}}", isUrgent: Bool = false) -> Request {
        Request(
            method: "POST", path: "/hello",
            headers: [
                HeaderField("content-type", "application/json"),
                HeaderField("x-request-id", UUID().uuidString, indexing: .never),
            ], body: Array(body.utf8), isUrgent: isUrgent)
    }
}

extension PoolConfiguration {
    /// A test server on this machine; impatient where a test would have to wait.
    static func local(_ port: Int, trust: TLSMaterial) -> PoolConfiguration {
        var configuration = PoolConfiguration(host: "127.0.0.1", port: port)
        configuration.trust = .file(trust.certificate)
        configuration.backOffFloor = .milliseconds(20)
        configuration.backOffCeiling = .milliseconds(100)
        configuration.dialInterval = .milliseconds(10)
        // A peer that is late to start, or to answer on a busy machine, shall be waited for.
        configuration.warmingTimeout = .seconds(60)
        configuration.circuitLimit = .max
        return configuration
    }
}

/// An engine for one test.
///
/// - Parameter resolve: answers name lookups in the system's place.
func withEngine<Result>(
    loopCount: Int = 1, keyLogFile: String? = nil, resolve: Resolve? = nil,
    _ body: (HTTP2Engine) async throws -> Result
) async throws -> Result {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let engine =
        resolve.map {
            HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile, resolve: $0)
        } ?? HTTP2Engine(loopCount: loopCount, logger: logger, keyLogFile: keyLogFile)
    do {
        let result = try await body(engine)
        await engine.shutdown(within: .seconds(1))
        return result
    } catch {
        await engine.shutdown(within: .zero)
        throw error
    }
}
