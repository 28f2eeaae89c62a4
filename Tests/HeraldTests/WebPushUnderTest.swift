import Crypto
import Foundation
import Logging
import ServiceLifecycle
import Signing
import Simulators
import TestSupport

/// A simulated push service beside the simulated APNs, and the web app `www.example.com` in the project file.
struct WebPushUnderTest {
    let test: GatewayUnderTest
    let service: SimulatedPushService
    /// `host:port` of the push service.
    let place: String
    let identity: PushServiceIdentity
    /// The key of the project file, and the one before it.
    let key: [UInt8]
    let former: [UInt8]

    /// Starts both simulators, writes the configuration, runs `body`, stops them.
    ///
    /// - Parameter more: lines of the web app's `webPush` block; `KEYS` stands for the directory of its keys, which are
    ///   `vapid.pem` and `former.pem`.
    static func with(
        settings: String = "", more: [String] = [], _ body: (WebPushUnderTest) async throws -> Void
    ) async throws {
        try await GatewayUnderTest.with(settings: settings) { test in
            let identity = try PushServiceIdentity(directory: test.directory.file("push-service"))
            var configuration = SimulatedPushService.Configuration(
                identity: identity, wallTimeMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) })
            configuration.port = 0
            let quiet = Logger(label: "simulator") { _ in SwiftLogNoOpLogHandler() }
            let (ports, announce) = AsyncStream.makeStream(of: Int.self)
            let service = SimulatedPushService(configuration, logger: quiet) { port, _ in announce.yield(port) }
            let group = ServiceGroup(services: [service], logger: quiet)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
                let web = WebPushUnderTest(
                    test: test, service: service, place: "127.0.0.1:\(port)", identity: identity,
                    key: try makeKey("vapid.pem", in: test.directory),
                    former: try makeKey("former.pem", in: test.directory))
                try web.writeApp(key: "vapid.pem", more)
                try await body(web)
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    private static func makeKey(_ name: String, in directory: TestDirectory) throws -> [UInt8] {
        let pem = try ES256PrivateKey.generatedPEM()
        try Data(pem.utf8).write(to: URL(filePath: directory.file(name)))
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: directory.file(name))
        return try ES256PrivateKey(pem: pem).publicPoint
    }

    /// Writes the project file with the web app, in place of one that was there.
    func writeApp(key: String, _ more: [String] = []) throws {
        let file = test.directory.file("projects/demo.yaml")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let begin = "  - id: www.example.com\n"
        let parts = text.components(separatedBy: "registrations:")
        let head = parts[0].components(separatedBy: begin)[0]
        let lines = more.map { "      " + $0.replacing("KEYS", with: test.directory.path) + "\n" }.joined()
        let app = """
            \(begin)    platform: web
                webPush:
                  subject: mailto:push@example.com
                  key: \(test.directory.file(key))
                  services: ["\(place)"]
                  trust: \(identity.caFile)

            """
        try (head + app + lines + "registrations:" + parts[1]).write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Subscribes a browser and registers it, as a page does.
    func register(
        applicationKey: [UInt8]? = nil, isKeyStated: Bool = true, with process: GatewayProcess
    ) async throws -> (subscription: PushSubscription, token: String) {
        let subscription = service.subscriptions.subscribe(applicationKey: applicationKey ?? key)
        let stated = isKeyStated ? #","applicationPubKey":"\#(Self.text(applicationKey ?? key))""# : ""
        let answer = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).post(
            "/v1/projects/demo/registrations",
            #"{"web":{"origin":"www.example.com","endpoint":"\#(subscription.endpoint)","#
                + #""p256dh":"\#(Self.text(subscription.publicKey))","auth":"\#(Self.text(subscription.secret))"\#(stated)}}"#
        )
        guard let token = try answer.json["token"] as? String else { throw ChildProcessError(answer.text) }
        return (subscription, token)
    }

    /// Subscribes registrations to the topic `weather`.
    func subscribe(_ tokens: [String], with process: GatewayProcess) async throws {
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).post(
            "/iid/v1:batchAdd", #"{"to":"/topics/weather","registration_tokens":[\#(list)]}"#)
        guard answer.status == 200 else { throw ChildProcessError(answer.text) }
    }

    /// Sends a message and gives its name.
    func send(_ message: String, with process: GatewayProcess) async throws -> String {
        let answer = try await APIClient(baseURL: process.baseURL, key: test.keys.sender).post(
            "/v1/projects/demo/messages:send", #"{"message":{\#(message)}}"#)
        guard let name = try answer.json["name"] as? String else { throw ChildProcessError(answer.text) }
        return name
    }

    static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
