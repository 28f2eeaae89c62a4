import AsyncHTTPClient
import Crypto
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Simulators
import Synchronization
import TestSupport

/// A wall clock that stands still until it is moved.
final class TestWallClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_800_000_000_000)

    var now: Int64 { milliseconds.withLock { $0 } }
    var seconds: Int64 { now / 1000 }

    func advance(seconds: Int64) {
        milliseconds.withLock { $0 += seconds * 1000 }
    }
}

/// What came back for a push.
struct PushAnswer {
    var status: Int
    var headers: HTTPHeaders
    var body: String

    var reason: String? { value("reason") as? String }
    var timestamp: Int64? { (value("timestamp") as? NSNumber)?.int64Value }

    private func value(_ key: String) -> Any? {
        do {
            return (try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])?[key]
        } catch {
            return nil
        }
    }
}

/// A push as a test means it; `nil` removes a header.
struct TestPush {
    static let deviceToken = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    var method = HTTPMethod.POST
    var path = "/3/device/" + deviceToken
    var headers: [(String, String)] = [("apns-topic", "com.example.app"), ("apns-push-type", "alert")]
    var body = #"{"aps":{"alert":"Hello"}}"#
    /// `nil`: a good one.
    var authorization: String?
    var hasAuthorization = true
    var timeout = TimeAmount(.longerThanAnyTest)

    func setting(_ name: String, _ value: String?) -> TestPush {
        var push = self
        push.headers.removeAll { $0.0 == name }
        if let value { push.headers.append((name, value)) }
        return push
    }

    func to(_ deviceToken: String) -> TestPush {
        var push = self
        push.path = "/3/device/" + deviceToken
        return push
    }
}

/// A running simulator and an independent HTTP/2 client (async-http-client) that trusts its CA.
struct SimulatorHarness: Sendable {
    let simulator: SimulatedAPNS
    let identity: SimulatorIdentity
    let clock: TestWallClock
    let port: Int
    let controlPort: Int?
    let client: HTTPClient
    /// The one token of all pushes that bring none of their own: a connection takes no second one for 20 minutes.
    private let authorization: String

    init(
        simulator: SimulatedAPNS, identity: SimulatorIdentity, clock: TestWallClock, port: Int, controlPort: Int?
    ) throws {
        self.simulator = simulator
        self.identity = identity
        self.clock = clock
        self.port = port
        self.controlPort = controlPort
        authorization = "bearer " + (try Self.token(of: identity, issuedAt: clock.seconds))
        client = try Self.makeClient(trusting: identity.caFile)
    }

    /// Runs `body` beside a simulator, which is cancelled afterwards.
    static func run(
        configure: (inout SimulatedAPNS.Configuration) -> Void = { _ in },
        _ body: (SimulatorHarness) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: ["com.example.app"])
        try await run(identity, configure: configure, body)
        withExtendedLifetime(directory) {}
    }

    static func run(
        _ identity: SimulatorIdentity, configure: (inout SimulatedAPNS.Configuration) -> Void = { _ in },
        _ body: (SimulatorHarness) async throws -> Void
    ) async throws {
        let clock = TestWallClock()
        var configuration = SimulatedAPNS.Configuration(identity: identity) { clock.now }
        configuration.port = 0
        configure(&configuration)
        let (ports, announce) = AsyncStream.makeStream(of: (Int, Int?).self)
        let simulator = SimulatedAPNS(configuration, logger: Logger(label: "simulator")) { port, controlPort in
            announce.yield((port, controlPort))
            announce.finish()
        }
        let running = Task {
            defer { announce.finish() }
            try await simulator.run()
        }
        var iterator = ports.makeAsyncIterator()
        guard let (port, controlPort) = await iterator.next() else {
            try await running.value
            throw HarnessError.endedEarly
        }
        let harness = try SimulatorHarness(
            simulator: simulator, identity: identity, clock: clock, port: port, controlPort: controlPort)
        let client = harness.client
        do {
            try await body(harness)
        } catch {
            running.cancel()
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
        running.cancel()
        try await running.value
    }

    enum HarnessError: Error {
        case endedEarly
    }

    /// The first answer after a connection ended: a client that does not know of the end yet uses it once more.
    static func onceConnected<Answer>(_ send: () async throws -> Answer) async throws -> Answer {
        for _ in 0..<10 {
            do {
                return try await send()
            } catch {
                // Its connection is one less.
                continue
            }
        }
        return try await send()
    }

    static func makeClient(trusting caFile: String, http1Only: Bool = false) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(caFile)
        configuration.tlsConfiguration = tls
        configuration.httpVersion = http1Only ? .http1Only : .automatic
        configuration.connectionPool.retryConnectionEstablishment = false
        // It also bounds the wait for a free stream.
        configuration.timeout.connect = TimeAmount(.longerThanAnyTest)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func send(
        _ push: TestPush = TestPush(), over other: HTTPClient? = nil, port otherPort: Int? = nil
    ) async throws -> PushAnswer {
        var request = HTTPClientRequest(url: "https://localhost:\(otherPort ?? port)\(push.path)")
        request.method = push.method
        for (name, value) in push.headers { request.headers.add(name: name, value: value) }
        if push.hasAuthorization {
            request.headers.add(name: "authorization", value: push.authorization ?? authorization)
        }
        if !push.body.isEmpty { request.body = .bytes(ByteBuffer(string: push.body)) }
        let response = try await (other ?? client).execute(request, timeout: push.timeout)
        let body = try await response.body.collect(upTo: 1 << 20)
        return PushAnswer(
            status: Int(response.status.code), headers: response.headers, body: String(buffer: body))
    }

    /// A provider token signed with the identity's `.p8`, a new one each time.
    func token(issuedSecondsAgo age: Int64 = 0) throws -> String {
        try Self.token(of: identity, issuedAt: clock.seconds - age)
    }

    private static func token(of identity: SimulatorIdentity, issuedAt: Int64) throws -> String {
        let text = try String(contentsOfFile: identity.keyFile, encoding: .utf8)
        return try token(
            header: ["alg": "ES256", "kid": identity.keyID], claims: ["iss": identity.teamID, "iat": issuedAt],
            P256.Signing.PrivateKey(pemRepresentation: text))
    }

    static func token(
        header: [String: Any], claims: [String: Any], _ key: P256.Signing.PrivateKey, usesDER: Bool = false
    ) throws -> String {
        let signed =
            try base64URL(JSONSerialization.data(withJSONObject: header, options: .sortedKeys)) + "."
            + base64URL(JSONSerialization.data(withJSONObject: claims, options: .sortedKeys))
        let signature = try key.signature(for: Data(signed.utf8))
        return signed + "." + base64URL(usesDER ? signature.derRepresentation : signature.rawRepresentation)
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// A request to the control endpoint.
    func control(
        _ method: HTTPMethod, _ path: String, body: String? = nil, headers: HTTPHeaders = [:]
    ) async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(controlPort ?? 0)\(path)")
        request.method = method
        request.headers = headers
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 24))
        return (Int(response.status.code), text)
    }
}
