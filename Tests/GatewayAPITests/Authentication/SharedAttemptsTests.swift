import HTTPListener
import PushModel
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// One credential that many requests present at once.
@Suite(.timeLimit(.minutes(5)))
struct SharedAttemptsTests {
    private static let caller = Caller(
        credential: .apiKey("1"), project: ProjectID(rawValue: "demo")!, role: .sender)

    /// What a look-up finds, once so many requests have asked to present their credential.
    private final class Lookup: Sendable {
        private let found: Result<Caller, FCMError>
        private let requests: Int
        private let asked = AsyncStream<Void>.makeStream()
        private let state = Mutex((asked: 0, lookups: 0))

        init(_ found: Result<Caller, FCMError>, after requests: Int) {
            self.found = found
            self.requests = requests
        }

        var count: Int { state.withLock { $0.lookups } }

        /// The clock of the limits: each request that asks reads it once.
        @Sendable func now() -> ContinuousClock.Instant {
            if state.withLock({ state in
                state.asked += 1
                return state.asked == requests
            }) {
                asked.continuation.finish()
            }
            return Self.time
        }

        func find() async throws(FCMError) -> Caller {
            state.withLock { $0.lookups += 1 }
            for await _ in asked.stream {}
            return try found.get()
        }

        private static let time = ContinuousClock.now
    }

    /// Ten failures are within the limit. The number of requests by status; 200 for one that was let in.
    private func present(
        _ lookup: Lookup, _ limits: ClientRateLimits, requests: Int, credentials: Int = 1
    ) async -> [Int: Int] {
        let attempts = SharedAttempts(limits)
        return await withTaskGroup(of: Int.self, returning: [Int: Int].self) { group in
            for number in 0..<requests {
                group.addTask {
                    do throws(FCMError) {
                        _ = try await attempts.caller(
                            presenting: "credential \(number % credentials)", from: "192.0.2.1"
                        ) { () async throws(FCMError) in try await lookup.find() }
                        return 200
                    } catch {
                        return error.code.httpStatus
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    private func limits(_ lookup: Lookup) -> ClientRateLimits {
        ClientRateLimits(
            ClientRateLimits.Rates(address: 0, registration: 0, project: 0, failures: 1), now: lookup.now)
    }

    @Test func aBurstWithOneNewCredentialIsOneAttempt() async throws {
        let lookup = Lookup(.success(Self.caller), after: 300)
        let limits = limits(lookup)
        #expect(await present(lookup, limits, requests: 300) == [200: 300])
        #expect(lookup.count == 1)
        // All that was counted is given back.
        try limits.check(.failures("192.0.2.1"), 10)
    }

    @Test func aStoreThatFailsIsNobodysFailure() async throws {
        let lookup = Lookup(.failure(FCMError(.unavailable)), after: 300)
        let limits = limits(lookup)
        #expect(await present(lookup, limits, requests: 300) == [503: 300])
        try limits.check(.failures("192.0.2.1"), 10)
    }

    @Test func whatFailsCountsForEachRequest() async {
        let lookup = Lookup(.failure(FCMError(.unauthenticated)), after: 30)
        #expect(await present(lookup, limits(lookup), requests: 30) == [401: 10, 429: 20])
        #expect(lookup.count == 1)
    }

    @Test func differentCredentialsAreDifferentAttempts() async {
        let lookup = Lookup(.failure(FCMError(.unauthenticated)), after: 30)
        #expect(await present(lookup, limits(lookup), requests: 30, credentials: 30) == [401: 10, 429: 20])
        #expect(lookup.count == 10)
    }
}
