import TestSupport
import Testing

@testable import HTTP2Client

/// Through a proxy over real sockets.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct ProxyTests {
    private static let success = "HTTP/1.1 200 Connection established\r\nVia: 1.1 relay\r\n\r\n"

    /// A pool for a name that only the proxy could resolve.
    private func configuration(_ server: Nghttpd, through relay: TCPRelay) -> PoolConfiguration {
        var configuration = PoolConfiguration.local(server.port, trust: server.tls)
        configuration.host = "push.invalid"
        configuration.serverName = "localhost"
        configuration.proxy = .init(host: "127.0.0.1", port: relay.port)
        return configuration
    }

    @Test func pushesGoThroughATunnelToANameThatOnlyTheProxyKnows() async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, .proxy(answer: Self.success, then: nil))
        try await withEngine { engine in
            let pool = try engine.openPool(configuration(server, through: relay))
            let exchanges = await pool.exchange(Array(repeating: .post(), count: 500))
            #expect(exchanges.allSatisfy { $0.status == 200 })
            #expect(!relay.heads.isEmpty)
            for head in relay.heads {
                #expect(
                    head == "CONNECT push.invalid:\(server.port) HTTP/1.1\r\nHost: push.invalid:\(server.port)\r\n\r\n")
            }
            // What the proxy relays is all there is: the tunnel's own bytes are not the pool's.
            #expect(pool.statistics.bytesSent > 500 * 10)
        }
    }

    @Test func theProxyMayHaveANameAndWantCredentials() async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, .proxy(answer: Self.success, then: nil))
        try await withEngine { engine in
            var configuration = configuration(server, through: relay)
            configuration.proxy = .init(
                host: "localhost", port: relay.port, credentials: .init(user: "Aladdin", password: "open sesame"))
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
            let head = try #require(relay.heads.first)
            #expect(head.contains("\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"))
        }
    }

    /// What a proxy does, and what is said about it.
    @Test(arguments: [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", TCPRelay.Fault.finish, "connect_failed", "does not allow this target"),
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", .finish, "connect_failed", "wants credentials"),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", .reset, "connect_failed", ""),
        ("", .finish, "connect_failed", "closed before its answer"),
        ("", .reset, "connect_failed", ""),
        ("HTTP/1.1 20", .finish, "connect_failed", "closed before the end of its answer"),
        ("HTTP/1.1 20", .silence, "connect_failed", "not connected in time, waiting for the answer of proxy"),
        ("220 smtp.example.com ESMTP\r\n", .silence, "protocol_error", "no HTTP"),
        (success, .finish, "tls_failed", "TLS handshake with localhost"),
        (success, .silence, "connect_failed", "not connected in time, in the TLS handshake"),
    ])
    func whatGoesWrongIsSaidAndTheNextTunnelWorks(
        answer: String, end: TCPRelay.Fault, kind: String, words: String
    ) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, .proxy(answer: answer, then: end))
        try await withEngine { engine in
            var configuration = configuration(server, through: relay)
            configuration.queueTimeout = .seconds(5)
            // Long enough to come as far as the fault, on a busy machine too.
            if words.contains("in time") { configuration.connectTimeout = .seconds(2) }
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind.rawValue == kind, "\(failure)")
            #expect(failure.message.contains(words), "\(failure.message)")
            #expect(failure.message.contains("127.0.0.1:\(relay.port)") || kind == "connect_failed")
        }
        relay.treatAll(.proxy(answer: Self.success, then: nil))
        try await withEngine { engine in
            let pool = try engine.openPool(configuration(server, through: relay))
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }

    @Test func aProxyThatIsNotThereIsNamed() async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port)
        let closed = try ClosedPort()
        try await withEngine { engine in
            var configuration = configuration(server, through: relay)
            configuration.proxy?.port = closed.number
            configuration.queueTimeout = .milliseconds(300)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .connectFailed)
            #expect(
                failure.message.contains("proxy 127.0.0.1:\(closed.number): ")
                    && failure.message.contains("Connection refused"), "\(failure.message)")
        }
        withExtendedLifetime(closed) {}
    }

    @Test(arguments: [TCPRelay.Fault.finish, .reset])
    func aProxyThatDiesMidwayCostsOnlyWhatWasInFlight(fault: TCPRelay.Fault) async throws {
        let peer = try await ScriptedPeer()
        let relay = try TCPRelay(to: peer.port, .proxy(answer: Self.success, then: nil))
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.proxy = .init(host: "127.0.0.1", port: relay.port)
            configuration.connectionLimit = 1
            let pool = try engine.openPool(configuration)
            let lost = await Submitted([.get, .get], to: pool)
            _ = try await peer.nextRequest(maxStreams: 1)
            relay.inflict(fault)
            // The one that had not left goes with the next connection.
            try peer.send(.answer(try await peer.nextRequest(maxStreams: 1), status: 200))
            let exchanges = await lost.exchanges()
            #expect(exchanges[0].unanswered?.kind == .connectionLost)
            #expect(exchanges[1].status == 200)
            #expect(relay.heads.count >= 2)
        }
    }

    @Test(arguments: Loopback.available) func theProxyMayListenOnEitherFamily(loopback: Loopback) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, on: loopback, .proxy(answer: Self.success, then: nil))
        try await withEngine { engine in
            var configuration = configuration(server, through: relay)
            configuration.proxy?.host = loopback.rawValue
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }
}
