import AsyncHTTPClient
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import Simulators

/// Clients with certificates, played by async-http-client.
@Suite(.timeLimit(.minutes(2)))
struct CertificateTests {
    private static let topics = ["com.example.app", "com.example.app.voip"]

    /// A push and what it is answered over a certificate for ``topics``.
    struct Case: Sendable {
        var type: String
        var topic: String?
        var reason: String?
    }

    static let cases: [Case] = [
        Case(type: "alert", topic: "com.example.app"),
        Case(type: "liveactivity", topic: "com.example.app.push-type.liveactivity"),
        Case(type: "pushtotalk", topic: "com.example.app.voip-ptt"),
        Case(type: "voip", topic: "com.example.app.voip"),
        Case(type: "complication", topic: "com.example.app.complication", reason: "TopicDisallowed"),
        Case(type: "location", topic: "com.example.app.location-query", reason: "TopicDisallowed"),
        Case(type: "widgets", topic: "com.example.app.push-type.widgets", reason: "TopicDisallowed"),
        Case(type: "controls", topic: "com.example.app.push-type.controls", reason: "TopicDisallowed"),
        Case(type: "alert", topic: "com.example.other", reason: "TopicDisallowed"),
        Case(type: "alert", topic: nil, reason: "MissingTopic"),
    ]

    @Test func aCertificateStandsInForTheTokenForItsTopics() async throws {
        try await withClient(topics: Self.topics) { harness, client in
            for item in Self.cases {
                let answer = try await harness.send(Self.push(item), over: client)
                #expect(answer.reason == item.reason, "\(item)")
                #expect(answer.status == (item.reason == nil ? 200 : 400))
            }
        }
    }

    @Test func theTopicOfACertificateWithOneMayBeLeftOut() async throws {
        try await withClient(topics: ["com.example.app"]) { harness, client in
            let answer = try await harness.send(Self.push(Case(type: "alert")), over: client)
            #expect(answer.status == 200)
        }
    }

    @Test func aCertificateWithoutTopicsIsBad() async throws {
        try await withClient(topics: []) { harness, client in
            let answer = try await harness.send(Self.push(Case(type: "alert", topic: "com.example.app")), over: client)
            #expect(answer.status == 403)
            #expect(answer.reason == "BadCertificate")
        }
    }

    @Test func withoutACertificateATokenIsNeeded() async throws {
        try await withClient(topics: Self.topics) { harness, _ in
            let answer = try await harness.send(Self.push(Case(type: "alert", topic: "com.example.app")))
            #expect(answer.reason == "MissingProviderToken")
            #expect(try await harness.send().status == 200)
        }
    }

    @Test func aTokenBesideACertificateIsNotLookedAt() async throws {
        try await withClient(topics: Self.topics) { harness, client in
            var push = Self.push(Case(type: "alert", topic: "com.example.app"))
            push.hasAuthorization = true
            push.authorization = "bearer nonsense"
            let answer = try await harness.send(push, over: client)
            #expect(answer.status == 200)
        }
    }

    @Test func theTopicsAreReadAsTheyWereIssued() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        for topics in [[], ["com.example.app"], Self.topics] {
            let pem = try identity.pushCertificate(topics: topics).certificatePEM
            let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first)
            #expect(PushCertificate(derBytes: try certificate.toDERBytes()).topics == topics)
        }
        #expect(PushCertificate(derBytes: [1, 2, 3]).topics.isEmpty)
    }

    @Test func aFileWithoutAuthoritiesIsNamed() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        for file in ["/nowhere.pem", identity.keyFile] {
            let error = await #expect(throws: SimulatorError.self) {
                try await SimulatorHarness.run(identity, configure: { $0.clientCAFile = file }) { _ in }
            }
            #expect(error?.description.hasPrefix(file) == true)
        }
    }

    private static func push(_ item: Case) -> TestPush {
        var push = TestPush().setting("apns-push-type", item.type).setting("apns-topic", item.topic)
        push.hasAuthorization = false
        return push
    }

    /// Runs a simulator that asks for certificates, and a client that has one.
    private func withClient(
        topics: [String], _ body: (SimulatorHarness, HTTPClient) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: ["com.example.app"])
        let pair = try identity.pushCertificate(topics: topics)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(identity.caFile)
        tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(pair.certificatePEM.utf8)).map {
            .certificate($0)
        }
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(pair.keyPEM.utf8), format: .pem))
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = tls
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = TimeAmount(.longerThanAnyTest)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            try await SimulatorHarness.run(identity, configure: { $0.clientCAFile = identity.caFile }) { harness in
                try await body(harness, client)
            }
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }
}
