import APNSSimulator
import ArgumentParser
import Logging
import PushModel
import ServiceLifecycle

/// `herald simulate`: stands in for the services upstream.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run a simulated upstream.", subcommands: [APNs.self])

    /// `herald simulate apns`.
    struct APNs: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "apns", abstract: "Run a simulated APNs on the loopback interface.",
            discussion: "It makes its certificates and a provider key in the state directory, and keeps them.")

        @Option(help: "TCP port; 0 takes a free one.") var port = 2197
        @Option(help: "The directory of certificates and keys.") var state = ".herald/apns"
        @Option(help: "TCP port of the control endpoint (plain HTTP); none when not given.") var controlPort: Int?
        @Option(help: "A bundle id that the provider key may push to; repeatable; default: any.")
        var topic: [String] = []
        @Flag(help: "Print nothing for each push.") var quiet = false

        func validate() throws {
            for port in [port, controlPort].compactMap({ $0 }) where !(0...65_535).contains(port) {
                throw ValidationError("\(port) is not a port; use 0 to 65535.")
            }
        }

        func run() async throws {
            let log = LogFactory(format: .text, level: .warning, output: .standardError)
            _ = GatewayProcessSetup.bootstrap(log: log)
            let identity = try DevelopmentState.identity(directory: state, topics: topic)
            var configuration = SimulatedAPNS.Configuration(
                identity: identity, wallTimeMilliseconds: { Timestamp.systemTime().milliseconds })
            configuration.port = port
            configuration.controlPort = controlPort
            let simulator = SimulatedAPNS(configuration, logger: log.logger(label: "apns")) { port, controlPort in
                Console.standard.print(Self.welcome(identity, port: port, controlPort: controlPort))
            }
            var services: [any Service] = [simulator]
            if !quiet { services.append(PushPrinter(recording: simulator.recording)) }
            do {
                try await GatewayProcessSetup.run(services, shutdownLimit: .seconds(2), log: log)
            } catch let error as SimulatorError {
                throw Failure(.unavailable, "\(error) (--port, --control-port)")
            }
        }

        /// What to write into a project file.
        static func welcome(_ identity: SimulatorIdentity, port: Int, controlPort: Int?) -> String {
            let control = controlPort.map { "\nThe control endpoint is http://127.0.0.1:\($0)." } ?? ""
            return """
                The simulated APNs listens on 127.0.0.1:\(port). For an app's apns block:

                  team: \(identity.teamID)
                  key: \(identity.keyFile)
                  endpoint: 127.0.0.1:\(port)
                  trust: \(identity.caFile)
                \(control)
                Press Ctrl-C to stop.
                """
        }
    }
}
