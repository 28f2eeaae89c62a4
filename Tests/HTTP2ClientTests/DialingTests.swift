import Dispatch
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client

/// Connections over real sockets to addresses that the test chooses.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct DialingTests {
    /// A resolver that knows one name and gives these addresses.
    private func resolver(_ places: [(Loopback, Int)]) -> Resolve {
        { host, _ in
            guard host == "race.test" else { return .failure(TransportFailure(.connectFailed, "\(host): unknown")) }
            return places.reduce(.success([])) { list, place in
                list.flatMap { known in
                    SocketAddress.resolve(host: place.0.rawValue, port: place.1, isLiteral: true).map { known + $0 }
                }
            }
        }
    }

    private func configuration(_ server: Nghttpd) -> PoolConfiguration {
        var configuration = PoolConfiguration.local(server.port, trust: server.tls)
        configuration.host = "race.test"
        configuration.serverName = "localhost"
        configuration.attemptDelay = .milliseconds(30)
        // A dial that waits for its first address would not be done within a test's time.
        configuration.connectTimeout = .seconds(600)
        // A test that gets nowhere ends with the reason.
        configuration.queueTimeout = .seconds(60)
        return configuration
    }

    @Test func aSilentAddressIsOvertaken() async throws {
        let server = try await Nghttpd()
        let hole = try BlackHole()
        try await withEngine(resolve: resolver([(BlackHole.loopback, hole.port), (.v4, server.port)])) { engine in
            let pool = try engine.openPool(configuration(server))
            #expect(await pool.exchange([.get]).first?.status == 200)
            #expect(pool.statistics.dials == 1)
            // The one that lost is closed: what is left are the hole's own.
            let left = try Sockets.count(to: hole.port, of: BlackHole.loopback)
            #expect(left == BlackHole.fillers)
        }
        withExtendedLifetime(hole) {}
    }

    @Test func aFailingAddressIsPassedOverAtOnce() async throws {
        let server = try await Nghttpd()
        let closed = try ClosedPort()
        // Where there is no IPv6 its address fails too, only earlier.
        let places: [(Loopback, Int)] = [(.v6, closed.number), (.v4, closed.number), (.v4, server.port)]
        try await withEngine(resolve: resolver(places)) { engine in
            var configuration = configuration(server)
            configuration.attemptDelay = .seconds(600)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
            #expect(pool.statistics.dials == 1)
        }
        withExtendedLifetime(closed) {}
    }

    @Test func anEndpointThatIsAnAddressIsNamedOnce() async throws {
        let closed = try ClosedPort()
        let server = try await Nghttpd()
        try await withEngine(resolve: resolver([(Loopback.v4, closed.number)])) { engine in
            var configuration = configuration(server)
            configuration.host = "127.0.0.1"
            configuration.port = closed.number
            configuration.queueTimeout = .milliseconds(300)
            let failure = try await engine.openPool(configuration).dialFailure()
            #expect(failure.message.hasSuffix("127.0.0.1:\(closed.number): Connection refused"), "\(failure.message)")
            #expect(failure.message.ranges(of: "127.0.0.1:").count == 1, "\(failure.message)")
        }
        withExtendedLifetime(closed) {}
    }

    @Test func eachFailedAddressIsNamed() async throws {
        let server = try await Nghttpd()
        let ports = [try ClosedPort(), try ClosedPort()]
        let places = ports.map { (Loopback.v4, $0.number) }
        try await withEngine(resolve: resolver(places)) { engine in
            var configuration = configuration(server)
            configuration.queueTimeout = .milliseconds(300)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .connectFailed)
            #expect(failure.message.contains("race.test:\(server.port): "), "\(failure.message)")
            for port in ports {
                #expect(failure.message.contains("127.0.0.1:\(port.number): Connection refused"), "\(failure.message)")
            }
        }
        withExtendedLifetime(ports) {}
    }

    @Test func onlySilentAddressesEndWithTheTimeLimit() async throws {
        let server = try await Nghttpd()
        let hole = try BlackHole()
        let closed = try ClosedPort()
        let places = [(BlackHole.loopback, hole.port), (.v4, closed.number), (BlackHole.loopback, hole.port)]
        try await withEngine(resolve: resolver(places)) { engine in
            var configuration = configuration(server)
            configuration.connectTimeout = .seconds(2)
            configuration.queueTimeout = .seconds(5)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .connectFailed)
            #expect(failure.message.contains("not connected in time, connecting to race.test"), "\(failure.message)")
            #expect(failure.message.contains("\(closed.number): Connection refused"), "\(failure.message)")
            await pool.close(within: .zero)
            let left = try Sockets.count(to: hole.port, of: BlackHole.loopback)
            #expect(left == BlackHole.fillers)
        }
        withExtendedLifetime((hole, closed)) {}
    }

    @Test func everyDialAsksForTheNameAnew() async throws {
        let (first, second) = (try await Nghttpd(), try ClosedPort())
        let asked = Mutex(0)
        let (here, there) = (resolver([(.v4, second.number)]), resolver([(.v4, first.port)]))
        try await withEngine(resolve: { host, port in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            return count < 3 ? here(host, port) : there(host, port)
        }) { engine in
            let pool = try engine.openPool(configuration(first))
            #expect(await pool.exchange([.get]).first?.status == 200)
            #expect(pool.statistics.dials == 3)
            #expect(asked.withLock { $0 } == 3)
        }
        withExtendedLifetime(second) {}
    }

    /// A name server that does not answer: a thousand origins must not have a thousand threads.
    @Test func fewNamesAreLookedUpAtATime() async throws {
        let counts = Mutex((running: 0, most: 0, asked: 0))
        let gate = DispatchSemaphore(value: 0)
        let (steps, step) = AsyncStream.makeStream(of: Int.self)
        try await withEngine(resolve: { host, _ in
            let running = counts.withLock { counts in
                counts.running += 1
                counts.asked += 1
                counts.most = max(counts.most, counts.running)
                return counts.running
            }
            step.yield(running)
            gate.wait()
            counts.withLock { $0.running -= 1 }
            return .failure(TransportFailure(.connectFailed, "\(host): unknown"))
        }) { engine in
            let count = 3 * NameLookups.limit
            try await withThrowingDiscardingTaskGroup { tasks in
                for number in 0..<count {
                    var configuration = PoolConfiguration(host: "origin-\(number).test", port: 443)
                    configuration.circuitLimit = 1
                    configuration.connectTimeout = .seconds(600)
                    configuration.queueTimeout = .seconds(600)
                    let pool = try engine.openPool(configuration)
                    tasks.addTask { #expect(await pool.exchange([.get]).first?.notSent?.kind == .connectFailed) }
                }
                for await running in steps where running == NameLookups.limit { break }
                for _ in 0..<count { gate.signal() }
            }
            #expect(counts.withLock { $0.most } == NameLookups.limit && counts.withLock { $0.asked } == count)
        }
    }

    @Test func aNameThatIsNotFoundIsNamed() async throws {
        let server = try await Nghttpd()
        try await withEngine(resolve: resolver([])) { engine in
            var configuration = configuration(server)
            configuration.host = "nowhere.test"
            configuration.queueTimeout = .milliseconds(200)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .connectFailed)
            #expect(failure.message.contains("nowhere.test: unknown"))
        }
    }

    @Test func aNameWithoutAddressesIsAFailedDial() async throws {
        let server = try await Nghttpd()
        try await withEngine(resolve: resolver([])) { engine in
            var configuration = configuration(server)
            configuration.queueTimeout = .milliseconds(200)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.message.contains("no address"), "\(failure.message)")
        }
    }

    /// As a literal, and by the name that has both families, whichever of them has a listener.
    @Test(arguments: Loopback.available, [true, false])
    func bothFamiliesWork(loopback: Loopback, isLiteral: Bool) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, on: loopback)
        let places = [(Loopback.v6, relay.port), (.v4, relay.port)]
        try await withEngine(resolve: resolver(places)) { engine in
            var configuration = configuration(server)
            configuration.port = relay.port
            if isLiteral {
                configuration.host = loopback.rawValue
                configuration.serverName = nil
            }
            let pool = try engine.openPool(configuration)
            let exchange = await pool.exchange([.get]).first
            #expect(exchange?.status == 200, "\(exchange as Any)")
            #expect(relay.accepted == 1)
        }
    }

    @Test(arguments: Loopback.available)
    func localhostIsFoundWhateverItsListenerSpeaks(loopback: Loopback) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, on: loopback)
        // The system's own lookup. Some systems know localhost by one family only.
        let known = try SocketAddress.resolve(host: "localhost", port: relay.port, isLiteral: false).get()
        let isKnown = known.contains { $0.family == (loopback == .v4 ? AF_INET : AF_INET6) }
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(relay.port, trust: server.tls)
            configuration.host = "localhost"
            configuration.queueTimeout = isKnown ? .seconds(60) : .milliseconds(200)
            let pool = try engine.openPool(configuration)
            let exchange = await pool.exchange([.get]).first
            #expect(isKnown ? exchange?.status == 200 : exchange?.notSent?.kind == .connectFailed)
        }
    }

    @Test func socketsAreSetUpForDeadPeers() throws {
        let address = try #require(
            try SocketAddress.resolve(host: "127.0.0.1", port: 1, isLiteral: true).get().first)
        let socket = try Socket(for: address, unacknowledgedLimit: .seconds(25))
        #expect(socket.option(Int32(IPPROTO_TCP), 18 /* TCP_USER_TIMEOUT */) == 25_000)
        #expect(socket.option(Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
        #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(socket.option(Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 60)
        // Without PING there is no limit to derive: the longest one.
        let patient = try Socket(for: address, unacknowledgedLimit: .seconds(Int64.max))
        #expect(patient.option(Int32(IPPROTO_TCP), 18) == Int32.max)
    }

    @Test func withoutPINGsSentBytesMayStayUnacknowledged() throws {
        for (interval, limit) in [(Duration.seconds(20), Duration.seconds(25)), (.zero, .seconds(Int64.max))] {
            let life = try PoolLife { $0.pingInterval = interval }
            #expect(life.core.settings.unacknowledgedLimit == limit)
        }
    }
}
