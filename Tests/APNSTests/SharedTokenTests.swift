import Crypto
import Foundation
import Logging
import PushModel
import Signing
import Synchronization
import TestSupport
import Testing
import Upstream

@testable import APNS

/// Gateways that leave the provider token of a key for each other.
@Suite(.timeLimit(.minutes(5)))
struct SharedTokenTests {
    /// The place where they leave it, which keeps to the rules of the store.
    private final class Place: SharedProviderTokens {
        enum Fault: Error {
            case unavailable
        }

        private struct State {
            var tokens: [ProviderKeyName: SealedProviderToken] = [:]
            var questions = 0
            var isUnavailable = false
            var hangs = false
            var hung: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        var questions: Int { state.withLock { $0.questions } }
        var tokens: [ProviderKeyName: SealedProviderToken] { state.withLock { $0.tokens } }

        /// From now on it can't be asked.
        func becomeUnavailable() { state.withLock { $0.isUnavailable = true } }

        /// From now on it does not answer until ``answer()``.
        func hang() { state.withLock { $0.hangs = true } }

        func answer() {
            let hung = state.withLock { state in
                state.hangs = false
                defer { state.hung = [] }
                return state.hung
            }
            for continuation in hung { continuation.resume() }
        }

        func token(of key: ProviderKeyName) async throws -> SealedProviderToken? {
            await withCheckedContinuation { continuation in
                let hangs = state.withLock { state in
                    if state.hangs { state.hung.append(continuation) }
                    return state.hangs
                }
                if !hangs { continuation.resume() }
            }
            return try state.withLock { state in
                state.questions += 1
                if state.isUnavailable { throw Fault.unavailable }
                return state.tokens[key]
            }
        }

        func keep(
            _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
        ) async throws -> SealedProviderToken {
            try state.withLock { state in
                if state.isUnavailable { throw Fault.unavailable }
                if let there = state.tokens[key], there != former { return there }
                state.tokens[key] = token
                return token
            }
        }
    }

    private let time = TestTime()
    private let place = Place()
    private let signer = P256.Signing.PrivateKey()

    /// What a gateway has.
    private func source(
        _ key: P256.Signing.PrivateKey? = nil,
        pause: @escaping @Sendable (Duration) async -> Void = { _ in await SharedTokenTests.forever() }
    ) throws -> ProviderTokenSource {
        ProviderTokenSource(
            keyID: "ABC1234567", teamID: "TEAM123456", key: try ES256PrivateKey(pem: (key ?? signer).pemRepresentation),
            wallTime: time.wallTime, uptime: time.uptime, shared: place, pause: pause)
    }

    /// Sleeps until the task is cancelled.
    private static func forever() async {
        // Cancelled: that is what it waits for.
        try? await Task.sleep(for: .longerThanAnyTest)
    }

    private static func token(of source: ProviderTokenSource) async throws -> AuthorizationToken {
        await source.prepare()
        return try source.current()
    }

    @Test func allHaveOneTokenAtATime() async throws {
        let sources = try (0..<3).map { _ in try source() }
        var seen: [String] = []
        // Three hours, in which each pushes every minute.
        for _ in 0..<180 {
            var tokens: Set<String> = []
            for source in sources {
                let token = try await Self.token(of: source)
                #expect(time.now - token.issuedAt < ProviderTokenSource.lifetime)
                #expect(token.series == 0)
                tokens.insert(token.authorization)
            }
            #expect(tokens.count == 1)
            if let token = tokens.first, seen.last != token { seen.append(token) }
            time.advance(by: .seconds(60))
        }
        // One in 44 minutes, beside the first.
        #expect(seen.count == 5)
        // Each asks when its own has had its time, and not before.
        #expect(place.questions == 3 * seen.count)
    }

    @Test func manyThatNeedItAtOnceAskOnce() async throws {
        let source = try source()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await Self.token(of: source).authorization } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1 && place.questions == 1)
    }

    @Test func theFirstOfThoseThatSignAtOnceIsTaken() async throws {
        let sources = try (0..<8).map { _ in try source() }
        for _ in 0..<10 {
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for source in sources { group.addTask { try await Self.token(of: source).authorization } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            time.advance(by: .seconds(45 * 60))
        }
    }

    @Test func theDatabaseAloneGivesNobodyAToken() async throws {
        let token = try await Self.token(of: try source())
        let kept = try #require(place.tokens.values.first)
        let jwt = Array(token.authorization.dropFirst("bearer ".count).utf8)
        #expect(kept.bytes.count == jwt.count + SealingKey.overhead)
        for part in stride(from: 0, to: jwt.count - 8, by: 8) {
            #expect(kept.bytes.firstRange(of: jwt[part..<part + 8]) == nil)
        }
    }

    @Test func withoutTheDatabaseEachSignsItsOwn() async throws {
        let sources = try (0..<2).map { _ in try source() }
        place.becomeUnavailable()
        var tokens: Set<String> = []
        for source in sources {
            let token = try await Self.token(of: source)
            #expect(token.issuedAt == time.now)
            tokens.insert(token.authorization)
            // It is good for its time.
            #expect(try await Self.token(of: source).authorization == token.authorization)
        }
        #expect(tokens.count == 2)
    }

    @Test func aDatabaseThatDoesNotAnswerIsNotWaitedForLong() async throws {
        let clock = TestClock()
        // It throws when it is cancelled: then there is an answer.
        let source = try source { try? await clock.sleep(for: $0) }
        place.hang()
        async let waiting = Self.token(of: source)
        await clock.advanceToSleeper(within: ProviderTokenSource.askLimit)
        let own = try await waiting
        #expect(own.issuedAt == time.now)
        place.answer()
        // What comes so late changes nothing.
        #expect(try await Self.token(of: source).authorization == own.authorization)
        #expect(own.number == 1)
    }

    @Test func whatAPNsCallsExpiredIsReplacedForAll() async throws {
        let sources = try (0..<2).map { _ in try source() }
        let first = try await Self.token(of: sources[0])
        #expect(try await Self.token(of: sources[1]).authorization == first.authorization)
        time.advance(by: .seconds(25 * 60))
        sources[0].expire(first.issuedAt)
        let second = try await Self.token(of: sources[0])
        #expect(second.authorization != first.authorization && second.issuedAt == time.now)
        sources[1].expire(first.issuedAt)
        #expect(try await Self.token(of: sources[1]).authorization == second.authorization)
    }

    @Test func aTokenThatComesSoonAfterAnotherBeginsASeries() async throws {
        let (first, second) = (try source(), try source())
        let old = try await Self.token(of: first)
        time.advance(by: .seconds(40 * 60))
        // It begins late, and gets the next one four minutes after: not on the same connections.
        #expect(try await Self.token(of: second).authorization == old.authorization)
        time.advance(by: .seconds(4 * 60))
        let tokens = [try await Self.token(of: first), try await Self.token(of: second)]
        #expect(tokens[0].authorization == tokens[1].authorization)
        #expect(tokens.map(\.series) == [0, 1])
    }

    @Test func aTokenOfAnotherKeyOfTheSameNameIsReplaced() async throws {
        let other = try await Self.token(of: try source(P256.Signing.PrivateKey()))
        let own = try await Self.token(of: try source())
        #expect(own.authorization != other.authorization)
        #expect(try await Self.token(of: try source()).authorization == own.authorization)
    }

    @Test func pushesCarryIt() async throws {
        let transports = [FakeTransport(), FakeTransport()]
        let fixture = SenderFixture()
        for transport in transports {
            let sender = APNSSender(
                transport: transport, sharedTokens: place, wallTime: time.wallTime, uptime: time.uptime,
                logger: Logger(label: "test"))
            try sender.use([fixture.app()])
            let collector = ReportCollector(of: 1)
            await sender.send([try makePush(1)]) { collector.take($0) }
            await collector.wait(for: 1)
            #expect(collector.outcomes == [.accepted])
        }
        let tokens = transports.flatMap { $0.pools.flatMap(\.requests) }.compactMap { $0.header("authorization") }
        #expect(tokens.count == 2 && Set(tokens).count == 1)
    }
}
