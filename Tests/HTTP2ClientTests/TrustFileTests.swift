import Foundation
import Logging
import TestSupport
import Testing

@testable import HTTP2Client

/// A trust file that changes while the program runs.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct TrustFileTests {
    private let directory: TestDirectory
    private var path: String { directory.file("trust.pem") }

    init() throws { directory = try TestDirectory() }

    /// As an operator's tools do it: written beside, then put in its place.
    private func put(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }

    private func text(_ material: TLSMaterial) throws -> String {
        try String(contentsOfFile: material.certificate, encoding: .utf8)
    }

    @Test func itIsReadAgainWhenItHasChangedAndOnlyThen() throws {
        let (one, other) = (try TLSMaterial(), try TLSMaterial())
        try put(text(one))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let source = try TLSSource(trust: .file(path), logger: logger)
        let first = source.context()
        #expect(source.context() === first)
        try put(text(other))
        let second = source.context()
        #expect(second !== first)
        #expect(source.context() === second)
        // What can't be used changes nothing, nor does a file that is gone.
        try put("no certificate")
        #expect(source.context() === second)
        try FileManager.default.removeItem(atPath: path)
        #expect(source.context() === second)
        try put(text(one))
        #expect(source.context() !== second)
    }

    /// Those that the machine's updates bring or take away, without a restart.
    @Test func theSystemsAuthoritiesAreReadAgainWhenTheirFilesHaveChanged() throws {
        let stores = TrustStores()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let folder = directory.file("certs")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let source = try TLSSource(
            trust: .system, stores: stores, systemPaths: [path, folder], logger: logger)
        let first = source.context()
        #expect(source.context() === first)
        for change in [path, folder + "/1a2b3c4d.0"] {
            let before = source.context()
            try text(try TLSMaterial()).write(toFile: change, atomically: false, encoding: .utf8)
            #expect(!source.context().sharesTrust(with: before))
            #expect(source.context() === source.context())
        }
        // Another pool shares what was read.
        let other = try TLSSource(trust: .system, stores: stores, systemPaths: [path, folder], logger: logger)
        #expect(other.context().sharesTrust(with: source.context()))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.removeItem(atPath: folder)
        let last = source.context()
        #expect(source.context() === last)
    }

    @Test func theSystemsFilesAreThoseThatOpenSSLReads() {
        #expect(TrustState.systemPaths.count >= 2)
        #expect(TrustState(of: TrustState.systemPaths) != nil)
        #expect(TrustState(of: [directory.file("none")]) == nil)
    }

    /// A thousand origins would have a thousand copies of the system's authorities.
    @Test func allPoolsOfAnEngineShareWhatTheyTrust() throws {
        try put(text(try TLSMaterial()))
        let stores = TrustStores()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func source(_ trust: TLSTrust) throws -> TLSContext {
            try TLSSource(trust: trust, stores: stores, logger: logger).context()
        }
        let (first, second) = (try source(.file(path)), try source(.file(path)))
        #expect(first !== second && first.sharesTrust(with: second))
        #expect(try source(.system).sharesTrust(with: source(.system)))
        #expect(try !source(.system).sharesTrust(with: first))
        try put(text(try TLSMaterial()))
        #expect(try !source(.file(path)).sharesTrust(with: first))
    }

    @Test func theNextDialTrustsWhatTheFileSaysNow() async throws {
        let peer = try await ScriptedPeer()
        try put(text(try TLSMaterial()))
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.trust = .file(path)
            configuration.queueTimeout = .seconds(600)
            configuration.connectTimeout = .seconds(600)
            let (failures, failed) = AsyncStream.makeStream(of: Void.self)
            configuration.circuitLimit = 1
            configuration.reachChanged = { failed.yield() }
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.notSent?.kind == .connectFailed)
            #expect(pool.statistics.lastFailure?.contains("certificate") == true)
            try put(text(peer.tls))
            for await _ in failures where pool.statistics.circuit == .halfOpen { break }
            let submitted = await Submitted([.get], to: pool)
            let stream = try await peer.nextRequest()
            try peer.send(.answer(stream, status: 200))
            #expect(await submitted.exchanges().first?.status == 200)
        }
    }
}
