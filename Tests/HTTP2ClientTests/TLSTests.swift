import Foundation
import TestSupport
import Testing

@testable import HTTP2Client

/// What TLS refuses, resumes and tells.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct TLSTests {
    // MARK: Versions

    @Test func anOldVersionIsRefused() async throws {
        // Without the security level OpenSSL's own server would refuse its own version.
        let peer = try await ScriptedPeer(extra: ["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"])
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.queueTimeout = .seconds(2)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .tlsFailed)
            #expect(failure.message.contains("protocol version"), "\(failure.message)")
            #expect(
                failure.message.contains("TLS handshake with 127.0.0.1 (127.0.0.1:\(peer.port))"),
                "\(failure.message)")
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func newerVersionsWork(version: String) async throws {
        let peer = try await ScriptedPeer(extra: [version])
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(peer.port, trust: peer.tls))
            let submitted = await Submitted([.get], to: pool)
            try await peer.greet(maxStreams: 1)
            try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
            #expect(await submitted.exchanges().first?.status == 200)
        }
    }

    @Test func renegotiationIsRefused() async throws {
        let tls = try TLSMaterial()
        // Not quiet: then a line that begins with R makes it ask for a new handshake.
        let (port, server) = try await onFreePort { port in
            let arguments = [
                "s_server", "-accept", "127.0.0.1:\(port)", "-key", tls.key, "-cert", tls.certificate, "-alpn", "h2",
                "-tls1_2",
            ]
            let process = try ChildProcess(Tool.openssl, arguments, linked: true)
            return try await isListening(process, port: port) ? (port, process) : nil
        }
        // Who reads its output holds it until it ends.
        defer { server.kill() }
        let output = ServerOutput(of: server)
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(port, trust: tls))
            let submitted = await Submitted([.get], to: pool)
            try await output.wait(for: Frame.preface)
            try server.write(Frame.settings(maxStreams: 1).bytes)
            // The request follows the SETTINGS; the acknowledgement shows that they were read.
            try await output.wait(for: Frame.settingsAcknowledged.bytes)
            try server.write(Array("R\n".utf8))
            let failure = try #require(await submitted.exchanges().first?.unanswered)
            // A client that went along would wait for its answer, until its time is up.
            #expect(failure.kind == .connectionLost)
        }
    }

    // MARK: Resumption

    @Test func theNextConnectionResumes() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            #expect(await pool.exchange([.get]).first?.status == 200)
            #expect(pool.statistics.resumed == 0)
            for count in 1...4 {
                pool.recycleConnections()
                #expect(await pool.exchange([.get]).first?.status == 200)
                #expect(pool.statistics.resumed == count)
            }
            #expect(pool.statistics.dials == 5)
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func aLostConnectionIsResumedInEachVersion(version: String) async throws {
        let peer = try await ScriptedPeer(extra: [version])
        let relay = try TCPRelay(to: peer.port)
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(relay.port, trust: peer.tls))
            for count in 0..<3 {
                let submitted = await Submitted([.get], to: pool)
                try await peer.greet(maxStreams: 1)
                _ = try await peer.next(Frame.headers)
                // Tickets come before the PING: its answer shows that they are there.
                try await peer.awaitUnderstanding()
                #expect(pool.statistics.resumed == count)
                relay.inflict(.reset)
                #expect(await submitted.exchanges().first?.unanswered?.kind == .connectionLost)
            }
        }
    }

    @Test func aServerThatForgotGetsAFullHandshake() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            #expect(await pool.exchange([.get]).first?.status == 200)
            server.kill()
            // The new one has another ticket key.
            try await server.restart()
            pool.recycleConnections()
            #expect(await pool.exchange([.get]).first?.status != nil)
            #expect(pool.statistics.resumed == 0)
        }
    }

    @Test func poolsShareNoSessions() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            for _ in 0..<2 {
                let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
                #expect(await pool.exchange([.get]).first?.status == 200)
                #expect(pool.statistics.resumed == 0)
            }
        }
    }

    private func session(_ byte: UInt8, isSingleUse: Bool) -> TLSSessions.Session {
        TLSSessions.Session(count: 1, isSingleUse: isSingleUse) { unsafe $0[0] = byte }
    }

    private func byte(of session: TLSSessions.Session?) -> UInt8? {
        var byte: UInt8?
        session?.withBytes { byte = $0[0] }
        return byte
    }

    @Test func ticketsAreUsedOnceAndTheOldestGoFirst() {
        let sessions = TLSSessions()
        #expect(sessions.take() === nil)
        for byte in 0..<UInt8(TLSSessions.limit + 2) { sessions.add(session(byte, isSingleUse: true)) }
        #expect(sessions.count == TLSSessions.limit)
        #expect(byte(of: sessions.take()) == UInt8(TLSSessions.limit + 1))
        #expect(byte(of: sessions.take()) == UInt8(TLSSessions.limit))
        #expect(sessions.count == TLSSessions.limit - 2)
        sessions.add(session(99, isSingleUse: false))
        for _ in 0..<3 { #expect(byte(of: sessions.take()) == 99) }
        #expect(sessions.count == 1)
        sessions.forget()
        #expect(sessions.take() === nil)
    }

    // MARK: Key log

    @Test func secretsAreWrittenWhereTheOperatorWants() async throws {
        let server = try await Nghttpd()
        let directory = try TestDirectory()
        let path = directory.file("keys.log")
        try Data("# before\n".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try await withEngine(loopCount: 2, keyLogFile: path) { engine in
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            let pool = try engine.openPool(.local(server.port, trust: server.tls))
                            #expect(await pool.exchange([.get]).first?.status == 200)
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.first == "# before")
        // Label, client random, secret; as many lines for each connection.
        #expect(lines.count > 1 + 8 && (lines.count - 1).isMultiple(of: 8))
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ")
            #expect(parts.count == 3 && parts[1].count == 64 && parts[2].allSatisfy(\.isHexDigit), "\(parts[0])")
        }
        #expect(lines.count { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") } == 8)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func aFileThatOthersMayReadGetsNoSecretsAndStaysAsItIs() throws {
        let directory = try TestDirectory()
        let path = directory.file("notes.txt")
        try Data("notes".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: TransportFailure.self) { try KeyLog(path: path) }
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("link"), withDestinationPath: directory.file("elsewhere"))
        #expect(throws: TransportFailure.self) { try KeyLog(path: directory.file("link")) }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o644)
        #expect(!FileManager.default.fileExists(atPath: directory.file("elsewhere")))
    }

    @Test func withoutAFileTheSecretsAreNotLogged() throws {
        #expect(try !TLSContext(trust: .system).tellsSecrets)
        let directory = try TestDirectory()
        let log = try KeyLog(path: directory.file("keys.log"))
        #expect(try TLSContext(trust: .system, keyLog: log).tellsSecrets)
        let mode = try FileManager.default.attributesOfItem(atPath: directory.file("keys.log"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func aKeyLogThatCannotBeOpenedStopsNothing() async throws {
        let server = try await Nghttpd()
        try await withEngine(keyLogFile: "/nowhere/keys.log") { engine in
            let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }

    // MARK: Errors

    @Test func certificateErrorsNamePeerStepAndReason() async throws {
        let server = try await Nghttpd()
        let other = try TLSMaterial()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: other)
            configuration.queueTimeout = .seconds(2)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            #expect(failure.kind == .tlsFailed)
            let expected =
                "TLS handshake with 127.0.0.1 (127.0.0.1:\(server.port)): "
                + "certificate verify failed (self-signed certificate)"
            #expect(failure.message.contains(expected), "\(failure.message)")
        }
        withExtendedLifetime(other) {}
    }
}

/// What a program writes, searched as it comes.
private final class ServerOutput: Sendable {
    private let chunks: AsyncStream<[UInt8]>

    init(of process: ChildProcess) {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        self.chunks = chunks
        let reader = Thread {
            while true {
                let bytes = process.read()
                guard !bytes.isEmpty else { break }
                continuation.yield(bytes)
            }
            continuation.finish()
        }
        reader.start()
    }

    /// Returns when `wanted` has come; what came up to there is gone.
    func wait(for wanted: [UInt8]) async throws {
        var seen: [UInt8] = []
        for await bytes in chunks {
            seen += bytes
            if Data(seen).firstRange(of: Data(wanted)) != nil { return }
        }
        throw ToolFailure(what: "the program ended")
    }
}
