import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Simulators
import TestSupport

/// A simulator in this process and a configuration that makes a gateway process use it.
struct GatewayUnderTest {
    let directory: TestDirectory
    let simulator: SimulatedAPNS
    /// The address of the simulator's control endpoint, for programs beside the test.
    let controlURL: String
    let identity: SimulatorIdentity
    let configuration: String
    let keys: Keys

    struct Keys: Sendable {
        var admin: String
        var sender: String
        var client: String
    }

    /// Starts the simulator, writes the configuration, makes keys, runs `body`, stops the simulator.
    ///
    /// - Parameter otherKeys: provider keys that the simulator accepts beside its own.
    static func with<Result: Sendable>(
        settings: String = "", otherKeys: [AcceptedProviderKey] = [], usesCertificate: Bool = false,
        recordingLimit: Int = 10_000,
        wallTimeMilliseconds: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
        _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        let directory = try TestDirectory()
        var identity = try SimulatorIdentity(
            directory: directory.file("apns"), topics: ["com.example.app"])
        identity.providerKeys += otherKeys
        var configuration = SimulatedAPNS.Configuration(
            identity: identity, wallTimeMilliseconds: wallTimeMilliseconds)
        configuration.port = 0
        configuration.controlPort = 0
        configuration.channelPort = 0
        configuration.recordingLimit = recordingLimit
        if usesCertificate { configuration.clientCAFile = identity.caFile }
        let (ports, announcePorts) = AsyncStream.makeStream(of: (apns: Int, control: Int).self)
        let simulator = SimulatedAPNS(
            configuration, logger: Logger(label: "simulator") { _ in SwiftLogNoOpLogHandler() }
        ) { port, controlPort in
            announcePorts.yield((port, controlPort ?? 0))
        }
        let group = ServiceGroup(
            services: [simulator], logger: Logger(label: "simulator") { _ in SwiftLogNoOpLogHandler() })
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            guard let ports = await ports.first(where: { _ in true }) else { throw CancellationError() }
            let credential =
                usesCertificate
                ? try certificate(of: identity, in: directory)
                : "team: \(identity.teamID)\n      key: \(identity.keyFile)"
            let file = try write(
                credential: credential, identity: identity, apnsPort: ports.apns,
                channelPort: simulator.channelPort ?? 0, settings: settings, in: directory)
            let keys = try await Keys(
                admin: makeKey("admin", file), sender: makeKey("sender", file), client: makeKey("client", file))
            let gateway = GatewayUnderTest(
                directory: directory, simulator: simulator, controlURL: "http://127.0.0.1:\(ports.control)",
                identity: identity, configuration: file, keys: keys)
            let result = try await body(gateway)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }

    /// Writes a push certificate of the simulator's authority, in place of one that is there.
    ///
    /// - Parameter seconds: when it ends, from now.
    /// - Returns: the lines of the `apns` block that name it.
    @discardableResult
    static func certificate(
        of identity: SimulatorIdentity, seconds: Int64 = 365 * 86_400, in directory: TestDirectory
    ) throws -> String {
        let pair = try identity.pushCertificate(topics: ["com.example.app"], validity: -86_400...seconds)
        for (name, text) in [("push.pem", pair.certificatePEM), ("push-key.pem", pair.keyPEM)] {
            try text.write(toFile: directory.file(name), atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: directory.file(name))
        }
        return "certificate: \(directory.file("push.pem"))\n      certificateKey: \(directory.file("push-key.pem"))"
    }

    private static func write(
        credential: String, identity: SimulatorIdentity, apnsPort: Int, channelPort: Int, settings: String,
        in directory: TestDirectory
    ) throws -> String {
        try FileManager.default.createDirectory(atPath: directory.file("projects"), withIntermediateDirectories: true)
        try """
        project: demo
        number: 123456789012
        apps:
          - id: com.example.app
            platform: apple
            apns:
              \(credential)
              environment: production
              endpoint: 127.0.0.1:\(apnsPort)
              channelEndpoint: 127.0.0.1:\(channelPort)
              trust: \(identity.caFile)
            firebaseKeys: none
        registrations:
          requireInstallation: false
        """.write(toFile: directory.file("projects/demo.yaml"), atomically: true, encoding: .utf8)
        let file = directory.file("herald.yaml")
        try """
        listen:
          host: 127.0.0.1
          port: 0
        data: \(directory.file("data"))
        projects: \(directory.file("projects"))
        log:
          level: info
        \(settings)
        """.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    private static func makeKey(_ role: String, _ configuration: String) async throws -> String {
        let made = try await GatewayProcess.run(
            ["key", "create", "--config", configuration, "--project", "demo", "--role", role])
        guard made.status == 0, let key = made.lines.last(where: { !$0.isEmpty }) else {
            throw ChildProcessError("key create: \(made)")
        }
        return key
    }

    /// Starts a gateway process on this configuration.
    func start(environment: [String: String] = [:]) async throws -> GatewayProcess {
        try await GatewayProcess.serving(config: configuration, environment: environment)
    }
}

/// A caller of the gateway's API.
struct APIClient {
    let baseURL: String
    let key: String

    struct Answer {
        var status: Int
        var body: Data
        var headers: [String: String]

        var json: [String: Any] {
            get throws { try JSONSerialization.jsonObject(with: body) as? [String: Any] ?? [:] }
        }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    func post(
        _ path: String, _ body: String, type: String = "application/json", headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send("POST", path, body, type: type, headers: headers)
    }

    func get(_ path: String) async throws -> Answer {
        try await send("GET", path, nil)
    }

    func send(
        _ method: String, _ path: String, _ body: String?, type: String = "application/json",
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        // A connection to a gateway that was killed may be in the pool for a moment, and a successor on the same port would
        // be asked on it.
        request.headers.add(name: "connection", value: "close")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            request.headers.add(name: "content-type", value: type)
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        let bytes = try await response.body.collect(upTo: 64 << 20)
        return Answer(
            status: Int(response.status.code), body: Data(bytes.readableBytesView),
            headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 }))
    }

    /// Registers a device, whose token ends in these hex digits, and gives its registration token.
    func register(deviceToken: String) async throws -> String {
        let answer = try await post(
            "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#(deviceToken.deviceToken)","bundle_id":"com.example.app","apns_environment":"PROD"}}"#
        )
        guard let token = try answer.json["token"] as? String else { throw ChildProcessError(answer.text) }
        return token
    }
}

extension String {
    /// Hex digits as those of a device token of 32 bytes, with zeros in front.
    var deviceToken: String { String(repeating: "0", count: max(0, 64 - utf8.count)) + self }
}
