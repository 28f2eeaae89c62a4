import ArgumentParser
import Console
import Foundation
import IPAddresses
import Logging
import PushModel
import ServiceLifecycle
import Simulators

/// `herald dev`: a gateway with a simulated APNs, a simulated Google and a simulated push service of browsers, ready to try,
/// everything on the loopback interface.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev", abstract: "Run a gateway with simulated push services and show how to use it.",
        discussion: "Data, keys and certificates stay in the state directory; remove it to start afresh.")

    @Option(help: "The gateway's port; 0 takes a free one.") var port = 8080
    @Option(help: "The simulated APNs' port; 0 takes a free one.") var apnsPort = 2197
    @Option(help: "The simulated Google's port, for Android; 0 takes a free one.") var googlePort = 2199
    @Option(help: "The simulated push service's port, for browsers; 0 takes a free one.") var pushPort = 2200
    @Option(help: "The directory that keeps everything.") var state = ".herald"
    @Flag(help: "Log everything, not only warnings.") var verbose = false

    func validate() throws {
        for port in [port, apnsPort, googlePort, pushPort] where !(0...65_535).contains(port) {
            throw ValidationError("\(port) is not a port; use 0 to 65535.")
        }
        // The next one is for the control endpoint.
        guard pushPort < 65_535 else { throw ValidationError("--push-port takes 0 to 65534.") }
    }

    func run() async throws {
        let log = LogFactory(format: .text, level: verbose ? .debug : .warning, output: .standardError)
        let metrics = GatewayProcessSetup.bootstrap(log: log)
        let development = Development(
            state: DevelopmentState(directory: state), port: port, apnsPort: apnsPort, googlePort: googlePort,
            pushPort: pushPort, metrics: metrics, log: log)
        let services = try development.services()
        try await GatewayProcessSetup.run(
            services, shutdownLimit: .seconds(Development.shutdownSeconds), log: log)
    }
}

/// Wires simulators and gateway: the gateway starts once the simulators' ports are known.
struct Development {
    let state: DevelopmentState
    let port: Int
    let apnsPort: Int
    let googlePort: Int
    let pushPort: Int
    let metrics: PrometheusRegistry
    let log: LogFactory

    /// Simulators, printers and gateway in the order in which they start.
    func services() throws(Failure) -> [any Service] {
        let identity = try state.identity()
        let android = try DevelopmentAndroid(directory: state.directory)
        let browsers = try DevelopmentBrowsers(directory: state.directory)
        let ports = DevelopmentPorts.Announcements()
        let apns = apns(identity) { port in ports.apns.yield(port) }
        let google = google(android) { port in ports.google.yield(port) }
        let pushService = pushService(browsers) { port, controlPort in
            ports.push.yield((port: port, controlPort: controlPort ?? 0))
        }
        return [
            SimulatorService(simulator: apns, option: "--apns-port"),
            SimulatorService(simulator: google, option: "--google-port"),
            SimulatorService(simulator: pushService, option: "--push-port"),
            PushPrinter.phone(apns.recording), PushPrinter.android(google.recording),
            PushPrinter.browser(pushService.recording),
            DevelopmentGateway(
                development: self, identity: identity, android: android, browsers: browsers, announcements: ports,
                channelPort: { apns.channelPort }),
        ]
    }

    private func apns(
        _ identity: SimulatorIdentity, onListening: @escaping @Sendable (_ port: Int) -> Void
    ) -> SimulatedAPNS {
        var configuration = SimulatedAPNS.Configuration(
            identity: identity, wallTimeMilliseconds: { Timestamp.systemTime().milliseconds })
        configuration.port = apnsPort
        configuration.channelPort = 0
        return SimulatedAPNS(configuration, logger: log.logger(label: "apns")) { port, _ in onListening(port) }
    }

    private func google(
        _ android: DevelopmentAndroid, onListening: @escaping @Sendable (_ port: Int) -> Void
    ) -> SimulatedGoogle {
        var configuration = SimulatedGoogle.Configuration(
            identity: android.identity, wallTimeMilliseconds: { Timestamp.systemTime().milliseconds })
        configuration.port = googlePort
        return SimulatedGoogle(configuration, logger: log.logger(label: "google")) { port, _ in onListening(port) }
    }

    private func pushService(
        _ browsers: DevelopmentBrowsers, onListening: @escaping @Sendable (_ port: Int, _ controlPort: Int?) -> Void
    ) -> SimulatedPushService {
        var configuration = SimulatedPushService.Configuration(
            identity: browsers.identity, wallTimeMilliseconds: { Timestamp.systemTime().milliseconds })
        configuration.port = pushPort
        configuration.controlPort = pushPort == 0 ? 0 : pushPort + 1
        return SimulatedPushService(
            configuration, logger: log.logger(label: "push-service"), onListening: onListening)
    }

    /// How long the gateway waits for answers when it is stopped.
    static let shutdownSeconds = 5

    fileprivate func gatewayConfiguration() -> GatewayConfiguration {
        var configuration = GatewayConfiguration()
        configuration.listen.port = port
        configuration.dataDirectory = state.dataDirectory
        configuration.projectsDirectory = state.projectsDirectory
        configuration.places = state.places
        configuration.places[.port] = ConfigurationPlace(source: "--port", line: nil)
        configuration.log.level = log.level
        configuration.limits.shutdownSeconds = Self.shutdownSeconds
        // A receiver that is being written runs beside it.
        configuration.webhooks.allowHTTP = ["localhost", "127.0.0.1"]
        configuration.webhooks.allowNetworks = ["127.0.0.0/8", "::1"].compactMap { IPNetwork($0) }
        return configuration
    }

    fileprivate static func base(port: Int) -> String { "http://127.0.0.1:\(port)" }

    fileprivate func greet(
        _ link: ConsoleSignInLink, _ keys: DevelopmentState.Keys, _ android: DevelopmentAndroid,
        _ browsers: DevelopmentBrowsers, port: Int,
        _ ports: DevelopmentPorts
    ) {
        let base = Self.base(port: port)
        let block = DevelopmentBlock(
            base: base, keys: keys, deviceToken: Self.randomToken(), herald: Bundle.main.executablePath ?? "herald")
        let snippet = DevelopmentSnippet(
            base: base, credential: URL(filePath: state.account.path).standardizedFileURL.path)
        Terminal.standard.print(
            """
            Open the console with this link, which signs in once within 15 minutes:
            \(link.url(below: base, path: ConsoleConfiguration().path))

            Herald listens on \(base); beside it simulated services take its pushes: APNs on 127.0.0.1:\(ports.apns), Google
            on 127.0.0.1:\(ports.google) and a push service of browsers on 127.0.0.1:\(ports.push).
            Everything is kept in \(state.directory). Admin key: \(keys.admin)
            Service account: \(state.account.path)

            Paste these lines into another terminal:

            \(block.text)

            Or these into Python with firebase-admin (python3 -m venv .venv; .venv/bin/pip install firebase-admin):

            \(snippet.text)

            An Android device joins the topic with these lines:

            \(android.block(base: base, keys: keys, token: Self.randomToken()))

            A browser subscribes at http://localhost:\(port)\(DevelopmentBrowsers.path), over the Internet's push services; these
            lines play one:

            \(browsers.block(base: base, keys: keys, controlPort: ports.pushControl))

            Pushes appear below as on a phone, an Android device or in a browser. Press Ctrl-C to stop.

            """)
    }

    private static func randomToken() -> String {
        (0..<32).map { _ in String(UInt8.random(in: 16...255), radix: 16) }.joined()
    }
}

/// A simulator, with a busy port told in one line.
private struct SimulatorService: Service {
    let simulator: any Service
    /// The option that names another port.
    let option: String

    func run() async throws {
        do {
            try await simulator.run()
        } catch let error as SimulatorError {
            throw Failure(.unavailable, "\(error) (\(option))")
        }
    }
}

/// Waits for the simulators, then makes keys and project file and runs the gateway.
private struct DevelopmentGateway: Service {
    let development: Development
    let identity: SimulatorIdentity
    let android: DevelopmentAndroid
    let browsers: DevelopmentBrowsers
    let announcements: DevelopmentPorts.Announcements
    /// The port of the simulated management of channels, once the simulator listens.
    let channelPort: @Sendable () -> Int?

    func run() async throws {
        guard var ports = await announcements.ports() else { return }
        ports.channels = channelPort()
        let state = development.state
        try state.writeProjectFile(identity, android, browsers, ports, gatewayPort: development.port)
        let logger = development.log.logger(label: "herald")
        let keys = try await state.keys(logger: logger)
        let credential = try await state.account.credential(state, logger: logger)
        let link = try await state.signInLink(logger: logger)
        let gateway = try await Gateway(
            configuration: development.gatewayConfiguration(), command: "herald dev", metrics: development.metrics,
            files: browsers.files(clientKey: keys.client), logger: logger
        ) { [android, browsers, ports] port in
            do throws(Failure) {
                try state.account.write(credential, base: Development.base(port: port))
            } catch {
                Terminal.standard.error(error.description)
            }
            development.greet(link, keys, android, browsers, port: port, ports)
        }
        try await gateway.run()
    }
}
