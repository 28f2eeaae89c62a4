import Foundation
import TestSupport
import Testing

@testable import HTTP2Client

/// Against nghttpd over real sockets.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct NghttpdTests {
    @Test(arguments: [1, 4]) func thousandsOfRequestsAreAllAnswered(connections: Int) async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.connectionLimit = connections
            let pool = try engine.openPool(configuration)
            let requests = (0..<5000).map { $0.isMultiple(of: 2) ? Request.get : .post() }
            let exchanges = await pool.exchange(requests)
            #expect(exchanges.count == 5000)
            #expect(exchanges.allSatisfy { $0.status == 200 })
            #expect(pool.statistics.queued == 0)
            #expect(pool.statistics.connections <= connections)
        }
    }

    @Test func manyCallersOverManyLoopsAreAllAnswered() async throws {
        let server = try await Nghttpd()
        try await withEngine(loopCount: 3) { engine in
            let pools = try (0..<6).map { _ in
                try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            }
            let statuses = await withTaskGroup { group in
                for caller in 0..<30 {
                    let pool = pools[caller % pools.count]
                    group.addTask { await pool.exchange(Array(repeating: .post(), count: 50)).map(\.status) }
                }
                return await group.reduce(into: [Int?]()) { $0 += $1 }
            }
            #expect(statuses == Array(repeating: 200, count: 1500))
        }
    }

    @Test func theAnswerHasStatusFieldsAndBody() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            let exchange = try #require(await pool.exchange([.get]).first)
            guard case .answered(let response) = exchange else {
                Issue.record("\(exchange)")
                return
            }
            #expect(response.body == Array("hello".utf8))
            #expect(response.header("content-length") == "5")
            #expect(!response.headers.contains { $0.name.hasPrefix(":") })
        }
    }

    @Test func anotherStatusIsAnAnswerToo() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            let missing = Request(method: "GET", path: "/nothing", headers: [], body: [], isUrgent: false)
            #expect(await pool.exchange([missing]).first?.status == 404)
        }
    }

    @Test func aNameIsLookedUpAndVerified() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.host = "localhost"
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }

    @Test func bodiesLargerThanEveryWindowArrive() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            let requests = Array(repeating: Request.post(String(repeating: "x", count: 300_000)), count: 20)
            #expect(await pool.exchange(requests).allSatisfy { $0.status == 200 })
        }
    }

    @Test func anUntrustedCertificateIsNamed() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let other = try TLSMaterial()
            var configuration = PoolConfiguration.local(server.port, trust: other)
            configuration.queueTimeout = .seconds(3)
            let pool = try withExtendedLifetime(other) { try engine.openPool(configuration) }
            let failure = try #require(await pool.exchange([.get]).first?.notSent)
            #expect(failure.kind == .tlsFailed)
            #expect(failure.message.contains("self-signed certificate"), "\(failure.message)")
            #expect(pool.statistics.lastFailure?.contains("self-signed certificate") == true)
        }
    }

    @Test func aWrongHostNameIsNamed() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.serverName = "push.example.com"
            configuration.queueTimeout = .seconds(3)
            let pool = try engine.openPool(configuration)
            let failure = try #require(await pool.exchange([.get]).first?.notSent)
            #expect(failure.kind == .tlsFailed)
            #expect(failure.message.localizedCaseInsensitiveContains("hostname mismatch"), "\(failure.message)")
        }
    }

    @Test func anUnreadableTrustFileIsRefusedAtOnce() async throws {
        try await withEngine { engine in
            var configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
            configuration.trust = .file("/nowhere.pem")
            #expect(throws: TransportFailure.self) { try engine.openPool(configuration) }
        }
    }

    @Test func aClosedPortEndsInNotSentAfterTheQueueTime() async throws {
        let port = try ClosedPort()
        try await withEngine { engine in
            var configuration = PoolConfiguration(host: "127.0.0.1", port: port.number)
            configuration.queueTimeout = .milliseconds(300)
            configuration.backOffFloor = .milliseconds(20)
            configuration.backOffCeiling = .milliseconds(100)
            configuration.circuitLimit = .max
            let pool = try engine.openPool(configuration)
            let clock = ContinuousClock()
            let start = clock.now
            let exchanges = await pool.exchange([.get, .post()])
            #expect(clock.now - start >= .milliseconds(300))
            for exchange in exchanges {
                #expect(exchange.notSent?.kind == .connectFailed)
                #expect(exchange.notSent?.message.contains("Connection refused") == true)
            }
            #expect(pool.statistics.dials > 1)
        }
        withExtendedLifetime(port) {}
    }

    @Test func aServerThatComesBackIsFound() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            #expect(await pool.exchange([.get]).first?.status == 200)
            server.kill()
            let waiting = await Submitted([.get, .get], to: pool)
            try await server.restart()
            for exchange in await waiting.exchanges() {
                // It may have left on the old connection before the loop saw it die.
                #expect(exchange.status == 200 || exchange.unanswered?.kind == .connectionLost)
            }
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }

    @Test func recyclingReplacesConnectionsWithoutLosingRequests() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            for _ in 0..<5 {
                let running = await Submitted(Array(repeating: .post(), count: 300), to: pool)
                pool.recycleConnections()
                #expect(await running.exchanges().allSatisfy { $0.status == 200 })
            }
            #expect(pool.statistics.dials > 1)
        }
    }

    @Test func submitSuspendsAtTheLimitAndEverythingIsAnswered() async throws {
        let server = try await Nghttpd(streams: 10)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.queueLimit = 20
            configuration.connectionLimit = 1
            let pool = try engine.openPool(configuration)
            let exchanges = await pool.exchange(Array(repeating: .post(), count: 2000))
            #expect(exchanges.allSatisfy { $0.status == 200 })
        }
    }

    @Test func fiftyPoolsLeaveNoDescriptorsAndNoThreads() async throws {
        let server = try await Nghttpd()
        // The tests beside this one open descriptors too: ours are told by the server's port.
        try await withEngine(loopCount: 2) { engine in
            for _ in 0..<50 {
                let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
                #expect(await pool.exchange([.get]).first?.status == 200)
                await pool.close(within: .seconds(1))
            }
            #expect(try Sockets.count(to: server.port) == 0)
        }
    }
}
