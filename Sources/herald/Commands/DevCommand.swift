import ArgumentParser
import Foundation
import Logging
import PushModel
import ServiceLifecycle
import Simulators

/// `herald dev`: a gateway with a simulated APNs and a simulated push service of browsers, ready to try, everything on the loopback interface.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev", abstract: "Run a gateway with simulated push services and show how to use it.",
        discussion: "Data, keys and certificates stay in the state directory; remove it to start afresh.")

    @Option(help: "The gateway's port; 0 takes a free one.") var port = 8080
    @Option(help: "The simulated APNs' port; 0 takes a free one.") var apnsPort = 2197
    @Option(help: "The simulated push service's port, for browsers; 0 takes a free one.") var pushPort = 2200
    @Option(help: "The directory that keeps everything.") var state = ".herald"
    @Flag(help: "Log everything, not only warnings.") var verbose = false

    func validate() throws {
        for port in [port, apnsPort, pushPort] where !(0...65_535).contains(port) {
            throw ValidationError("\(port) is not a port; use 0 to 65535.")
        }
        // The next one is for the control endpoint.
        guard pushPort < 65_535 else { throw ValidationError("--push-port takes 0 to 65534.") }
    }

    func run() async throws {
        let log = LogFactory(format: .text, level: verbose ? .debug : .warning, output: .standardError)
        let metrics = GatewayProcessSetup.bootstrap(log: log)
        let development = Development(
            state: DevelopmentState(directory: state), port: port, apnsPort: apnsPort, pushPort: pushPort,
            metrics: metrics, log: log)
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
    let pushPort: Int
    let metrics: PrometheusRegistry
    let log: LogFactory

    /// Simulators, printers and gateway in the order in which they start.
    func services() throws(Failure) -> [any Service] {
        let identity = try state.identity()
        let browsers = try DevelopmentBrowsers(directory: state.directory)
        var configuration = SimulatedAPNS.Configuration(
            identity: identity, wallTimeMilliseconds: { Timestamp.systemTime().milliseconds })
        configuration.port = apnsPort
        configuration.channelPort = 0
        let (ports, announcement) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        let simulator = SimulatedAPNS(configuration, logger: log.logger(label: "apns")) { port, _ in
            announcement.yield(port)
        }
        let (pushPorts, pushAnnouncement) = AsyncStream.makeStream(
            of: PushServicePorts.self, bufferingPolicy: .bufferingNewest(1))
        let pushService = pushService(browsers) { port, controlPort in
            pushAnnouncement.yield(PushServicePorts(port: port, controlPort: controlPort ?? 0))
        }
        return [
            SimulatorService(simulator: simulator, option: "--apns-port"),
            SimulatorService(simulator: pushService, option: "--push-port"),
            PushPrinter(recording: simulator.recording), WebPushPrinter(recording: pushService.recording),
            DevelopmentGateway(
                development: self, identity: identity, browsers: browsers, apnsPorts: ports,
                channelPort: { simulator.channelPort }, pushPorts: pushPorts),
        ]
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
        return configuration
    }

    fileprivate static func base(port: Int) -> String { "http://127.0.0.1:\(port)" }

    fileprivate func greet(
        _ keys: DevelopmentState.Keys, _ browsers: DevelopmentBrowsers, port: Int, apnsPort: Int,
        push: PushServicePorts
    ) {
        let base = Self.base(port: port)
        let token = (0..<32).map { _ in String(UInt8.random(in: 16...255), radix: 16) }.joined()
        let block = DevelopmentBlock(
            base: base, keys: keys, deviceToken: token, herald: Bundle.main.executablePath ?? "herald")
        let snippet = DevelopmentSnippet(
            base: base, credential: URL(filePath: state.account.path).standardizedFileURL.path)
        Console.standard.print(
            """
            Herald listens on \(base); a simulated APNs on 127.0.0.1:\(apnsPort) takes its pushes, and a simulated push
            service on 127.0.0.1:\(push.port) those to browsers.
            Everything is kept in \(state.directory). Admin key: \(keys.admin)
            Service account: \(state.account.path)

            Paste these lines into another terminal:

            \(block.text)

            Or these into Python with firebase-admin (python3 -m venv .venv; .venv/bin/pip install firebase-admin):

            \(snippet.text)

            A browser subscribes at http://localhost:\(port)\(DevelopmentBrowsers.path), over the Internet's push services; these
            lines play one:

            \(browsers.block(base: base, keys: keys, controlPort: push.controlPort))

            Pushes appear below as on a phone. Press Ctrl-C to stop.

            """)
    }
}

/// Where the simulated push service listens.
private struct PushServicePorts: Sendable {
    var port: Int
    var controlPort: Int
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
    let browsers: DevelopmentBrowsers
    let apnsPorts: AsyncStream<Int>
    /// The port of the simulated management of channels, once the simulator listens.
    let channelPort: @Sendable () -> Int?
    let pushPorts: AsyncStream<PushServicePorts>

    func run() async throws {
        guard let apnsPort = await apnsPorts.cancelOnGracefulShutdown().first(where: { _ in true }),
            let push = await pushPorts.cancelOnGracefulShutdown().first(where: { _ in true })
        else { return }
        let state = development.state
        try state.writeProjectFile(
            identity, apnsPort: apnsPort, channelPort: channelPort(), browsers, pushPort: push.port,
            gatewayPort: development.port)
        let logger = development.log.logger(label: "herald")
        let keys = try await state.keys(logger: logger)
        let credential = try await state.account.credential(state, logger: logger)
        let gateway = try await Gateway(
            configuration: development.gatewayConfiguration(), command: "herald dev", metrics: development.metrics,
            pages: browsers.pages(clientKey: keys.client), logger: logger
        ) { [browsers] port in
            do throws(Failure) {
                try state.account.write(credential, base: Development.base(port: port))
            } catch {
                Console.standard.error(error.description)
            }
            development.greet(keys, browsers, port: port, apnsPort: apnsPort, push: push)
        }
        try await gateway.run()
    }
}
