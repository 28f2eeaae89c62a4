import TestSupport
import Testing

@testable import HTTP2Client

/// Urgent requests beside bulk: neither the queue nor the streams of one connection make them wait.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct UrgentTests {
    private func withConnection(
        maxStreams: UInt32, adjust: (inout PoolConfiguration) -> Void = { _ in },
        _ body: (ScriptedPeer, ConnectionPool) async throws -> Void
    ) async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            adjust(&configuration)
            let pool = try engine.openPool(configuration)
            let first = await Submitted([.get], to: pool)
            try await peer.greet(maxStreams: maxStreams)
            try peer.send(.answer(try await peer.nextAnsweringPings(Frame.headers).stream, status: 200))
            #expect(await first.exchanges().first?.status == 200)
            try await body(peer, pool)
        }
    }

    @Test(arguments: [
        (UInt32(1), 0), (8, 0), (9, 1), (16, 1), (47, 2), (200, 12), (256, 16), (1000, 16),
    ])
    func someStreamsAreKept(limit: UInt32, kept: Int) {
        #expect(ConnectionState.reserve(of: Int(limit)) == kept)
    }

    /// All streams that bulk may have are open and unanswered, and more bulk waits.
    @Test(arguments: [UInt32(20), 200])
    func withAllBulkStreamsUnansweredUrgentRequestsGoAtOnce(maxStreams: UInt32) async throws {
        try await withConnection(maxStreams: maxStreams) { peer, pool in
            let kept = ConnectionState.reserve(of: Int(maxStreams))
            let bulkStreams = Int(maxStreams) - kept
            let bulk = await Submitted(Array(repeating: .get, count: bulkStreams + 50), to: pool)
            var open: [UInt32] = []
            for _ in 0..<bulkStreams { open.append(try await peer.next(Frame.headers).stream) }
            if maxStreams > 150 { #expect(open.count > 100) }
            // Nothing is answered, and each of these is sent.
            var urgent: [(Submitted, UInt32)] = []
            for _ in 0..<kept {
                let submitted = await Submitted([.post(isUrgent: true)], to: pool)
                // Only the urgent ones have a body.
                urgent.append((submitted, try await peer.next(Frame.data).stream))
            }
            // Figures are shown at the end of a turn: that of the last request has ended when the next one begins.
            try await peer.awaitUnderstanding()
            #expect(pool.statistics.streamsInUse == Int(maxStreams))
            #expect(pool.statistics.queued == 50)
            // What comes free goes to the next urgent one, not to the bulk that waits longer.
            let next = await Submitted([.post(isUrgent: true)], to: pool)
            try peer.send(.answer(open[0], status: 200))
            let stream = try await peer.next(Frame.data).stream
            for (submitted, stream) in urgent + [(next, stream)] {
                try peer.send(.answer(stream, status: 200))
                #expect(await submitted.exchanges().first?.status == 200)
            }
            // Then bulk has its streams again, and no more.
            for stream in open.dropFirst() { try peer.send(.answer(stream, status: 200)) }
            for _ in 0..<50 {
                try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
            }
            #expect(await bulk.exchanges().allSatisfy { $0.status == 200 })
        }
    }

    @Test func aFullQueueOfBulkKeepsNoUrgentSubmitWaiting() async throws {
        try await withConnection(maxStreams: 10, adjust: { $0.queueLimit = 5 }) { peer, pool in
            async let bulk = Submitted(Array(repeating: .get, count: 40), to: pool).exchanges()
            var open: [UInt32] = []
            for _ in 0..<9 { open.append(try await peer.next(Frame.headers).stream) }
            // Its submit is suspended: 9 are out, 5 wait, 26 are not in. This one returns nevertheless.
            let urgent = await Submitted([.post(isUrgent: true)], to: pool)
            let stream = try await peer.next(Frame.data).stream
            try peer.send(.answer(stream, status: 200))
            #expect(await urgent.exchanges().first?.status == 200)
            for stream in open { try peer.send(.answer(stream, status: 200)) }
            for _ in 0..<31 { try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200)) }
            #expect(await bulk.allSatisfy { $0.status == 200 })
        }
    }

    @Test func theStreamsThatAreKeptAreNoReasonNotToDial() async throws {
        let farm = try await PeerFarm(2)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(farm.port, trust: farm.tls)
            configuration.connectionLimit = 2
            let pool = try engine.openPool(configuration)
            let bulk = await Submitted(Array(repeating: .get, count: 31), to: pool)
            var open: [(ScriptedPeer, UInt32)] = []
            for peer in farm.peers {
                try await peer.greet(maxStreams: 16)
                try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
                let count = open.isEmpty ? 15 : 14
                for _ in 0..<count { open.append((peer, try await peer.next(Frame.headers).stream)) }
            }
            for (peer, stream) in open { try peer.send(.answer(stream, status: 200)) }
            #expect(await bulk.exchanges().allSatisfy { $0.status == 200 })
            #expect(pool.statistics.dials == 2)
        }
    }
}

extension UrgentTests {
    /// Three connections full of bulk: the urgent requests get one of them, bulk comes back to it no more, and another one
    /// takes its place.
    @Test func whileUrgentRequestsComeOneConnectionIsTheirsAndBulkGetsAnother() async throws {
        let farm = try await PeerFarm(4)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(farm.port, trust: farm.tls)
            configuration.connectionLimit = 3
            let pool = try engine.openPool(configuration)
            // Without a reserve, so that it is not what lets them through.
            let limit = 4
            let bulk = await Submitted(Array(repeating: .get, count: 60), to: pool)
            var open: [[UInt32]] = [[], [], []]
            for peer in farm.peers.prefix(3) {
                try await peer.greet(maxStreams: UInt32(limit))
                try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
            }
            for (number, peer) in farm.peers.prefix(3).enumerated() {
                for _ in 0..<limit { open[number].append(try await peer.next(Frame.headers).stream) }
            }
            let urgent = await Submitted([.post(isUrgent: true)], to: pool)
            // The first stream that comes free is its own, wherever that is.
            try farm.peers[0].send(.answer(open[0].removeFirst(), status: 200))
            try farm.peers[0].send(.answer(try await farm.peers[0].next(Frame.data).stream, status: 200))
            #expect(await urgent.exchanges().first?.status == 200)
            // Answer everything: two connections are filled again, one stays empty, and bulk has a third one.
            for (number, peer) in farm.peers.prefix(3).enumerated() {
                for stream in open[number] { try peer.send(.answer(stream, status: 200)) }
            }
            try await farm.peers[3].greet(maxStreams: UInt32(limit))
            try farm.peers[3].send(.answer(try await farm.peers[3].next(Frame.headers).stream, status: 200))
            while pool.statistics.streamsInUse != 3 * limit { await Task.yield() }
            // Its streams are all free, though bulk waits: an urgent request has the connection for itself.
            #expect(pool.statistics.queued > 0)
            let second = await Submitted([.post(isUrgent: true)], to: pool)
            while pool.statistics.streamsInUse != 3 * limit + 1 { await Task.yield() }
            await pool.close(within: .zero)
            #expect(await second.exchanges().count == 1)
            #expect(await bulk.exchanges().count == 60)
        }
    }
}

/// What waits for a stream and is not wanted any more.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct ReconsiderTests {
    /// As after a stop of the process: what it changed was not told yet.
    @Test func whatHasWaitedForLongIsAskedAboutBeforeItsStreamOpens() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            configuration.wantedTime = .zero
            configuration.warmingTimeout = .seconds(600)
            configuration.streamTimeout = .seconds(600)
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            let isWanted = Shared(true)
            let (completions, continuation) = AsyncStream.makeStream(of: [RequestCompletion].self)
            async let submitted: Void = pool.submit(Array(repeating: .get, count: 3)) { _ in
                isWanted.withLock { $0 }
            } completion: {
                continuation.yield($0)
            }
            try await peer.greet(maxStreams: 1)
            let stream = try await peer.next(Frame.headers).stream
            isWanted.withLock { $0 = false }
            try peer.send(.answer(stream, status: 200))
            var ends: [Int: Exchange] = [:]
            for await batch in completions {
                for completion in batch { ends[completion.index] = completion.exchange }
                if ends.count == 3 { break }
            }
            await submitted
            #expect(ends[0]?.status == 200)
            #expect([1, 2].allSatisfy { ends[$0]?.notSent?.kind == .withdrawn })
            #expect(pool.statistics.queued == 0)
        }
    }

    @Test func whatIsNotWantedAnyMoreEndsAndTheRestGoes() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            configuration.queueLimit = 6
            // However slow the machine is, nothing else ends a request.
            configuration.reconsiderTime = .seconds(600)
            configuration.warmingTimeout = .seconds(600)
            configuration.streamTimeout = .seconds(600)
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            let (completions, continuation) = AsyncStream.makeStream(of: [RequestCompletion].self)
            // The first is on a stream, six wait in the queue, the others to be let in.
            async let submitted: Void = pool.submit(Array(repeating: .get, count: 12)) { index in
                !index.isMultiple(of: 2)
            } completion: {
                continuation.yield($0)
            }
            try await peer.greet(maxStreams: 1)
            var stream = try await peer.next(Frame.headers).stream
            pool.reconsider()
            var ends: [Int: Exchange] = [:]
            for await batch in completions {
                for completion in batch {
                    #expect(ends.updateValue(completion.exchange, forKey: completion.index) == nil)
                }
                // The even ones but the first, whether they waited or came to wait.
                if ends.count == 5 { break }
            }
            #expect(ends.keys.sorted() == [2, 4, 6, 8, 10])
            #expect(ends.values.allSatisfy { $0.notSent?.kind == .withdrawn })
            await submitted
            for number in 0..<7 {
                try peer.send(.answer(stream, status: 200))
                if number < 6 { stream = try await peer.next(Frame.headers).stream }
            }
            for await batch in completions {
                for completion in batch {
                    #expect(ends.updateValue(completion.exchange, forKey: completion.index) == nil)
                    #expect(completion.exchange.status == 200)
                }
                if ends.count == 12 { break }
            }
            #expect(pool.statistics.queued == 0)
        }
    }

    @Test func whenTheCircuitOpensWhatWaitsIsGivenBackAndTheNextDialIsTold() async throws {
        let port = try ClosedPort()
        try await withEngine { engine in
            var configuration = PoolConfiguration(host: "127.0.0.1", port: port.number)
            configuration.circuitLimit = 2
            configuration.backOffFloor = .milliseconds(20)
            configuration.backOffCeiling = .milliseconds(20)
            configuration.queueTimeout = .seconds(600)
            let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
            configuration.reachChanged = { continuation.yield() }
            let pool = try engine.openPool(configuration)
            #expect(pool.statistics.nextDial == nil)
            // They wait for the first dial and for the second one, whose failure opens the circuit.
            let exchanges = await pool.exchange(Array(repeating: .get, count: 300) + [.post(isUrgent: true)])
            #expect(exchanges.allSatisfy { $0.notSent?.message.contains("circuit is open") == true })
            #expect(pool.statistics.dials == 2)
            #expect(pool.statistics.nextDial != nil)
            // Open, and after the pause half-open with no request there to try.
            for await _ in changes where pool.statistics.circuit == .halfOpen { break }
            #expect(pool.statistics.nextDial == .zero)
            #expect(!pool.statistics.isTrying)
            #expect(pool.statistics.workingConnections == 0)
        }
        withExtendedLifetime(port) {}
    }
}
