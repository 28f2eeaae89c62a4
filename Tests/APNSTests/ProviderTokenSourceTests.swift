import Crypto
import PushModel
import Signing
import TestSupport
import Testing
import Upstream

@testable import APNS

struct ProviderTokenSourceTests {
    private let time = TestTime()
    private let source: ProviderTokenSource

    init() throws {
        let key = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        source = ProviderTokenSource(
            keyID: "ABC1234567", teamID: "TEAM123456", key: key, wallTime: time.wallTime, uptime: time.uptime)
    }

    @Test func `A token serves 44 minutes and is replaced before use after 46`() throws {
        let start = time.now
        let first = try source.current()
        #expect(first.issuedAt == start)
        time.advance(by: .seconds(44 * 60))
        #expect(try source.current().authorization == first.authorization)
        time.advance(by: .seconds(2 * 60))
        let second = try source.current()
        #expect(second.issuedAt == start + .seconds(46 * 60))
        #expect(second.authorization != first.authorization)
    }

    @Test func `The age counts from the token's iat, not from the start of the process`() throws {
        time.advance(by: .seconds(3600))
        let first = try source.current()
        #expect(first.issuedAt == time.now)
        time.advance(by: .seconds(44 * 60))
        #expect(try source.current().issuedAt == first.issuedAt)
    }

    @Test func `A clock that was set back by hours makes a new token, by seconds it does not`() throws {
        let first = try source.current()
        time.setWallTime(ahead: .seconds(-30))
        #expect(try source.current().issuedAt == first.issuedAt)
        time.setWallTime(ahead: .seconds(-2 * 3600))
        #expect(try source.current().issuedAt == time.now)
    }

    @Test(arguments: [3600, -3600] as [Int64])
    func `A token that follows too soon because the clock was set begins a series`(seconds: Int64) throws {
        let first = try source.current()
        time.advance(by: .seconds(19 * 60))
        time.setWallTime(ahead: .seconds(seconds))
        let second = try source.current()
        #expect(second.issuedAt == time.now)
        #expect(second.series == first.series + 1)
        time.advance(by: .seconds(45 * 60))
        #expect(try source.current().series == second.series)
        #expect(try source.current().issuedAt == time.now)
    }

    @Test func `A token that is replaced in time stays in the series`() throws {
        let first = try source.current()
        time.advance(by: .seconds(21 * 60))
        time.setWallTime(ahead: .seconds(3600))
        #expect(try source.current().issuedAt == time.now)
        #expect(try source.current().series == first.series)
    }

    @Test func `A token that APNs calls expired is replaced once it is older than a minute`() throws {
        let first = try source.current()
        time.advance(by: .seconds(59))
        source.expire(first.issuedAt)
        #expect(try source.current().issuedAt == first.issuedAt)
        time.advance(by: .seconds(2))
        source.expire(first.issuedAt)
        #expect(try source.current().issuedAt == time.now)
    }

    @Test func `Late answers about an old token do not replace the new one`() throws {
        let first = try source.current()
        time.advance(by: .seconds(46 * 60))
        let second = try source.current()
        time.advance(by: .seconds(120))
        source.expire(first.issuedAt)
        #expect(try source.current().issuedAt == second.issuedAt)
    }

    @Test func `Answers do not replace tokens more often than every 20 minutes`() throws {
        var mints: Set<Int64> = []
        for _ in 0..<240 {
            let token = try source.current()
            mints.insert(token.issuedAt.seconds)
            source.expire(token.issuedAt)
            time.advance(by: .seconds(60))
        }
        // Four hours of nothing but "expired": the first, then one every 20 minutes.
        #expect(mints.count <= 13)
        #expect(mints.count >= 12)
    }

    @Test func `Many callers at once share one token`() async throws {
        let source = source
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<64 { group.addTask { try source.current().authorization } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
    }
}
