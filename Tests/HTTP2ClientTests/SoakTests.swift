import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client

/// Pushes, and connections that come and go in every way, for a long time: memory and descriptors must not grow.
///
/// Runs in a process of its own, where nothing else takes memory: a short one in each test run; with
/// `HERALD_SOAK_SECONDS` as long as that and at least as many pushes as an hour at 100 pushes a second has.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(10)))
struct SoakTests {
    private static let hourOfPushes = 360_000
    /// One block of 32 bytes left behind by each push of an hour would come to 11 MiB, a session left behind by each of
    /// hundreds of connections to more than 20; malloc's own disorder stays below 3.
    private static let growthLimitBytes = 6 << 20

    @Test func memoryAndDescriptorsStayAsTheyAre() async throws {
        let environment = ProcessInfo.processInfo.environment
        if let seconds = environment["HERALD_SOAK_SECONDS"].flatMap(Int64.init) {
            let end = ContinuousClock.now + .seconds(seconds)
            return try await soak { $0 >= Self.hourOfPushes && .now >= end }
        }
        if let pushes = environment["HERALD_SOAK_PUSHES"].flatMap(Int.init) { return try await soak { $0 >= pushes } }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = try ChildProcess(
            "/usr/bin/env",
            ["HERALD_SOAK_PUSHES=8000", program, "--testing-library", "swift-testing", "--filter", "SoakTests"])
        #expect(process.wait() == 0, "run it alone with HERALD_SOAK_PUSHES=8000 to see why")
    }

    /// One look at the process.
    private struct Sample {
        let residentBytes: Int
        let descriptors: Int
        let threads: Int

        init() throws {
            // Columns: size, resident, shared, … in pages.
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            residentBytes = (Int(pages[1]) ?? 0) * Int(getpagesize())
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        }
    }

    private func soak(until isDone: (Int) -> Bool) async throws {
        let peers = try await Peers()
        var samples: [Sample] = []
        let (dials, pushes) = try await withEngine(loopCount: 2) { engine in
            let pools = try Pools(engine, peers)
            var pushes = 0
            var round = 0
            // The first rounds fill pools, caches and the threads of the runtime.
            while round < 20 || !isDone(pushes) {
                pushes += try await pools.play(round, peers)
                round += 1
                if round >= 10 { samples.append(try Sample()) }
            }
            // Killing the server costs what is under way then; nothing else costs a push.
            let steady = pools.steadyCount.withLock { $0 }
            #expect(steady.answered * 10 >= steady.all * 9, "\(steady.answered) of \(steady.all) answered")
            return (pools.dials.withLock { $0 } + (await pools.close()), pushes)
        }
        let quarter = max(1, samples.count / 4)
        func middle(_ samples: ArraySlice<Sample>, _ value: (Sample) -> Int) -> Int {
            samples.map(value).sorted()[samples.count / 2]
        }
        let (first, last) = (samples.prefix(quarter), samples.suffix(quarter))
        let growth = middle(last, \.residentBytes) - middle(first, \.residentBytes)
        print(
            "soak: \(pushes) pushes over \(dials) connections; \(middle(last, \.residentBytes) >> 10) KiB resident, "
                + "\(growth >> 10) KiB more than at first; \(middle(last, \.descriptors)) descriptors, "
                + "\(middle(first, \.descriptors)) at first; \(middle(last, \.threads)) threads")
        #expect(growth <= Self.growthLimitBytes)
        // Connections that are just being made or drained come and go.
        #expect(middle(last, \.descriptors) <= middle(first, \.descriptors) + 4)
        #expect(middle(last, \.threads) <= middle(first, \.threads) + 4)
    }

    /// Servers that behave and servers that do not.
    private struct Peers {
        let nghttpd: Nghttpd
        /// Where Python's h2 is not installed, no peer sends GOAWAY.
        let restless: H2Server?
        let closedPort: ClosedPort

        init() async throws {
            nghttpd = try await Nghttpd()
            closedPort = try ClosedPort()
            restless =
                Tool.hasPythonH2
                ? try await H2Server(
                    H2Server.Behaviour(
                        testDescription: "restless", streams: [5, 50], goAwayAfter: 50, refuse: 0.05, reset: 0.05))
                : nil
        }
    }

    private final class Pools: Sendable {
        private let engine: HTTP2Engine
        private let steady: ConnectionPool
        private let restless: ConnectionPool?
        private let hopeless: ConnectionPool
        private let requests = (0..<2000).map(Request.push)
        /// Connections of the pools that are closed.
        let dials = Mutex(0)
        /// Pushes of the steady pool, and those of them that were answered.
        let steadyCount = Mutex((all: 0, answered: 0))

        init(_ engine: HTTP2Engine, _ peers: Peers) throws {
            self.engine = engine
            steady = try engine.openPool(.local(peers.nghttpd.port, trust: peers.nghttpd.tls))
            restless = try peers.restless.map { try engine.openPool(.local($0.port, trust: $0.tls)) }
            var configuration = PoolConfiguration.local(peers.closedPort.number, trust: peers.nghttpd.tls)
            configuration.queueTimeout = .milliseconds(20)
            hopeless = try engine.openPool(configuration)
        }

        /// One round; returns how many pushes it had. Each has its end, or this does not return.
        func play(_ round: Int, _ peers: Peers) async throws -> Int {
            let running = await Submitted(requests, to: steady)
            steady.recycleConnections()
            // A pool for once, which is closed with its pushes under way.
            let brief = try engine.openPool(.local(peers.nghttpd.port, trust: peers.nghttpd.tls))
            let cut = await Submitted(Array(requests[..<100]), to: brief)
            await brief.close(within: round.isMultiple(of: 2) ? .zero : .milliseconds(20))
            var ends = await cut.exchanges().count
            dials.withLock { $0 += brief.statistics.dials }
            let failing = await Submitted([.get, .get], to: hopeless)
            if let restless { ends += await restless.exchange(Array(requests[..<100])).count }
            if round % 25 == 14 {
                // In the middle of the round's pushes.
                peers.nghttpd.kill()
                try await peers.nghttpd.restart()
            }
            let steadyEnds = await running.exchanges()
            steadyCount.withLock { count in
                count.all += steadyEnds.count
                count.answered += steadyEnds.count { $0.status != nil }
            }
            ends += steadyEnds.count
            return ends + (await failing.exchanges().count)
        }

        /// Closes the pools; the connections that were made.
        func close() async -> Int {
            let pools = [steady, hopeless] + (restless.map { [$0] } ?? [])
            let dials = pools.reduce(0) { $0 + $1.statistics.dials }
            for pool in pools { await pool.close(within: .seconds(5)) }
            return dials
        }
    }
}
