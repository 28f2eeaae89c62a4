import AsyncHTTPClient
import CryptoExtras
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Simulators
import TestSupport

/// A running simulated Google and an independent client (async-http-client) that trusts its CA.
struct GoogleHarness: Sendable {
    let simulator: SimulatedGoogle
    let identity: GoogleIdentity
    let clock: TestWallClock
    let port: Int
    let controlPort: Int?
    let client: HTTPClient

    static let token = "dQw4w9WgXcQ_device-0001:APA91bExample-token"

    /// Runs `body` beside a simulator, which is cancelled afterwards.
    static func run(
        http1Only: Bool = false, configure: (inout SimulatedGoogle.Configuration) -> Void = { _ in },
        _ body: (GoogleHarness) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try GoogleIdentity(directory: directory.path)
        let clock = TestWallClock()
        var configuration = SimulatedGoogle.Configuration(identity: identity) { clock.now }
        configuration.port = 0
        configuration.controlPort = 0
        configure(&configuration)
        let (ports, announce) = AsyncStream.makeStream(of: (Int, Int?).self)
        let simulator = SimulatedGoogle(configuration, logger: Logger(label: "google")) { port, controlPort in
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
            throw SimulatorHarness.HarnessError.endedEarly
        }
        let client = try SimulatorHarness.makeClient(trusting: identity.caFile, http1Only: http1Only)
        let harness = GoogleHarness(
            simulator: simulator, identity: identity, clock: clock, port: port, controlPort: controlPort, client: client
        )
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(harness))
        } catch {
            result = .failure(error)
        }
        try await client.shutdown()
        running.cancel()
        try await running.value
        try result.get()
        withExtendedLifetime(directory) {}
    }

    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: String

        /// A member of the JSON body, by its path.
        subscript(path: String...) -> String? {
            var value: Any?
            do {
                value = try JSONSerialization.jsonObject(with: Data(body.utf8))
            } catch {
                return nil
            }
            for name in path { value = (value as? [String: Any])?[name] }
            return value as? String
        }

        /// `errorCode` of the detail of FCM's.
        var code: String? {
            body.firstRange(of: "\"errorCode\": \"").map { body[$0.upperBound...].prefix { $0 != "\"" } }.map(
                String.init)
        }
    }

    func post(_ path: String, _ body: String, headers: [(String, String)]) async throws -> Answer {
        var request = HTTPClientRequest(url: "https://127.0.0.1:\(port)\(path)")
        request.method = .POST
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
        return Answer(status: Int(response.status.code), headers: response.headers, body: text)
    }

    /// An assertion as Google's documentation has it, with changes.
    func assertion(
        _ changes: [String: Any] = [:], header: [String: Any] = [:], key: _RSA.Signing.PrivateKey? = nil
    ) throws -> String {
        let file = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: identity.accountFile)))
        let account = file as? [String: String] ?? [:]
        let header = ["alg": "RS256", "typ": "JWT", "kid": identity.keyID].merging(header) { $1 }
        let claims = [
            "iss": identity.email, "scope": "https://www.googleapis.com/auth/firebase.messaging",
            "aud": account["token_uri"] ?? "", "iat": clock.seconds, "exp": clock.seconds + 3600,
        ].merging(changes) { $1 }
        let signed =
            try SimulatorHarness.base64URL(JSONSerialization.data(withJSONObject: header)) + "."
            + SimulatorHarness.base64URL(JSONSerialization.data(withJSONObject: claims))
        let key = try key ?? _RSA.Signing.PrivateKey(pemRepresentation: account["private_key"] ?? "")
        let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        return signed + "." + SimulatorHarness.base64URL(signature.rawRepresentation)
    }

    func exchange(_ assertion: String) async throws -> Answer {
        try await post(
            "/token", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)",
            headers: [("content-type", "application/x-www-form-urlencoded")])
    }

    func accessToken() async throws -> String {
        let answer = try await exchange(try assertion())
        guard let token = answer["access_token"] else { throw SimulatorHarness.HarnessError.endedEarly }
        return token
    }

    /// Sends a message; `{"message":{"token":…,"data":…}}` unless a body is given.
    func send(
        _ body: String? = nil, to token: String = GoogleHarness.token, project: String? = nil, bearer: String? = nil
    ) async throws -> Answer {
        let bearer = if let bearer { bearer } else { try await accessToken() }
        return try await post(
            "/v1/projects/\(project ?? identity.projectID)/messages:send",
            body ?? #"{"message":{"token":"\#(token)","data":{"a":"1"}}}"#,
            headers: [("content-type", "application/json"), ("authorization", "Bearer \(bearer)")])
    }
}
