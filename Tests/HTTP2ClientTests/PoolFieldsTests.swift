import TestSupport
import Testing

@testable import HTTP2Client

/// What the pool is told while requests wait: other fields, and that it is to wind down.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct PoolFieldsTests {
    private func withPeer(_ body: (ScriptedPeer, ConnectionPool) async throws -> Void) async throws {
        let farm = try await PeerFarm(1)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(farm.port, trust: farm.tls)
            configuration.connectionLimit = 1
            try await body(farm.peers[0], try engine.openPool(configuration))
        }
    }

    /// Returns once the loop has handled everything that was posted before.
    private func settle(_ peer: ScriptedPeer) async throws {
        try peer.send(Frame(type: Frame.ping, payload: Array(repeating: 7, count: 8)))
        while true {
            let ping = try await peer.next(Frame.ping)
            if ping.hasFirstFlag { return }
        }
    }

    @Test func aFieldThatIsSetWhileRequestsWaitIsOfTheMomentTheirStreamsOpen() async throws {
        try await withPeer { peer, pool in
            pool.setFields([HeaderField("authorization", "old", indexing: .never)])
            let early = await Submitted(Array(repeating: .get, count: 4), to: pool)
            try await peer.greet(maxStreams: 1)
            var decoder = HPACKDecoder()
            var seen: [String] = []
            func next() async throws {
                let headers = try await peer.next(Frame.headers)
                let fields = try decoder.decode(headers.payload)
                seen += fields.filter { $0.name == "authorization" }.map { "\($0.value) \($0.representation)" }
                #expect(fields.prefix(4).allSatisfy { $0.name.hasPrefix(":") })
                try peer.send(.answer(headers.stream, status: 200))
            }
            try await next()
            let second = try await peer.next(Frame.headers)
            #expect(try decoder.decode(second.payload).contains { $0.name == "authorization" && $0.value == "old" })
            pool.setFields([HeaderField("authorization", "new", indexing: .never)])
            let late = await Submitted([.get], to: pool)
            try await settle(peer)
            try peer.send(.answer(second.stream, status: 200))
            for _ in 0..<3 { try await next() }
            #expect(seen == ["old neverIndexed"] + Array(repeating: "new neverIndexed", count: 3))
            #expect(await (early.exchanges() + late.exchanges()).allSatisfy { $0.status == 200 })
        }
    }

    @Test func whileNoConnectionStandsWindingDownEndsWhatWaitsAtOnce() async throws {
        try await withPeer { _, pool in
            // The peer does not greet: the dial is under way for its whole time limit.
            let waiting = await Submitted(Array(repeating: .get, count: 3), to: pool)
            pool.windDown()
            #expect(await waiting.exchanges().allSatisfy { $0.notSent?.kind == .shutdown })
            let late = await Submitted([.get], to: pool)
            #expect(await late.exchanges().allSatisfy { $0.notSent?.kind == .shutdown })
        }
    }

    @Test func overAConnectionThatWorksWindingDownSendsWhatWaits() async throws {
        try await withPeer { peer, pool in
            let waiting = await Submitted(Array(repeating: .get, count: 4), to: pool)
            try await peer.greet(maxStreams: 1)
            let first = try await peer.next(Frame.headers)
            pool.windDown()
            try await settle(peer)
            try peer.send(.answer(first.stream, status: 200))
            for _ in 0..<3 { try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200)) }
            #expect(await waiting.exchanges().allSatisfy { $0.status == 200 })
        }
    }
}

struct ServerErrorPauseTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func inTenMinutesOfNothingBut500FiveConnectionsAreReplaced() {
        var pause = ServerErrorPause(floor: .seconds(30))
        var replaced: [Int64] = []
        for second in 0..<Int64(2400) where pause.take(at: at(second)) { replaced.append(second) }
        #expect(replaced == [0, 30, 90, 210, 450, 930, 1530, 2130])
    }

    @Test func aReplacementThatHelpedBeginsWithTheFirstPauseAnew() {
        var pause = ServerErrorPause(floor: .seconds(30))
        var taken = [0, 30].filter { pause.take(at: at($0)) }
        #expect(taken == [0, 30])
        // One that was there before says nothing.
        pause.helped(dialedAt: at(29))
        #expect(pause.isGrowing)
        pause.helped(dialedAt: at(31))
        #expect(!pause.isGrowing)
        taken = [89, 90, 119, 120].filter { pause.take(at: at($0)) }
        #expect(taken == [90, 120])
    }
}
