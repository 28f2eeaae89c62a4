import Foundation
import Logging
import Testing

@testable import HTTP2Client

/// Mutual TLS.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct ClientIdentityTests {
    @Test func theCertificateIsShownToAPeerThatAsks() async throws {
        let server = try await Nghttpd(asksForCertificate: true)
        let client = try TLSMaterial()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.identity = try Self.identity(client)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange(Array(repeating: .post(), count: 100)).allSatisfy { $0.status == 200 })
        }
    }

    @Test func withoutACertificateAPeerThatAsksIsNamed() async throws {
        let server = try await Nghttpd(asksForCertificate: true)
        let (ends, end) = AsyncStream.makeStream(of: String.self)
        let engine = HTTP2Engine(loopCount: 1, logger: Logger(label: "test") { _ in ClosedConnections(told: end) })
        let pool = try engine.openPool(PoolConfiguration.local(server.port, trust: server.tls))
        let submitted = await Submitted([.get], to: pool)
        let reason = await ends.first { _ in true }
        #expect(reason?.contains("certificate required") == true, "\(reason ?? "")")
        await engine.shutdown(within: .zero)
        #expect(await submitted.exchanges().first?.notSent != nil)
    }

    @Test func aCertificateThatIsNotNeededDoesNoHarm() async throws {
        let server = try await Nghttpd()
        let client = try TLSMaterial()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.identity = try Self.identity(client)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
        }
    }

    @Test func anIdentityThatCannotBeUsedOpensNoPool() async throws {
        let (client, other) = (try TLSMaterial(), try TLSMaterial())
        let certificate = try Self.bytes(client.certificate)
        let (key, foreignKey) = (try Self.bytes(client.key), try Self.bytes(other.key))
        let useless: [([[UInt8]], [UInt8])] = [
            ([], key), ([[1, 2, 3]], key), ([certificate, [1, 2, 3]], key), ([certificate], []),
            ([certificate], [1, 2, 3]), ([certificate], foreignKey),
        ]
        try await withEngine { engine in
            for (chain, key) in useless {
                var unusable = PoolConfiguration(host: "127.0.0.1", port: 1)
                unusable.identity = TLSIdentity(certificateChain: chain) { $0(key.span) }
                let configuration = unusable
                let failure = #expect(throws: TransportFailure.self) { try engine.openPool(configuration) }
                #expect(failure?.message.hasPrefix(TLSIdentity.failurePrefix) == true)
                #expect(OpenSSLErrors.drain() == "no details")
            }
        }
    }

    private static func identity(_ material: TLSMaterial) throws -> TLSIdentity {
        let key = try bytes(material.key)
        return TLSIdentity(certificateChain: [try bytes(material.certificate)]) { $0(key.span) }
    }

    /// The first block of a PEM file.
    private static func bytes(_ file: String) throws -> [UInt8] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("-----BEGIN") }.dropFirst()
            .prefix { !$0.hasPrefix("-----END") }
        return Array(try #require(Data(base64Encoded: lines.joined())))
    }
}

/// Tells of each connection that the engine closes.
private struct ClosedConnections: LogHandler {
    let told: AsyncStream<String>.Continuation
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.message == "closed" { told.yield("\(event.metadata?["details"] ?? "")") }
    }
}
