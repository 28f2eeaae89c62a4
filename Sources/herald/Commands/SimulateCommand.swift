import ArgumentParser
import Logging
import ServiceLifecycle
import Simulators

/// `herald simulate`: stands in for the services upstream.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run a simulated upstream.",
        subcommands: [APNs.self, PushService.self, Google.self])

    /// `herald simulate apns`.
    struct APNs: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "apns", abstract: "Run a simulated APNs on the loopback interface.",
            discussion: """
                It makes its certificates and a provider key in the state directory, and keeps them. With scenarios it \
                plays an APNs in trouble: each connection plays one, drawn by weight, for example

                  herald simulate apns --scenario goaway-partial --scenario slow=2,medianMilliseconds=100 --seed 7

                'herald simulate apns --scenario list' explains them. Without --scenario those of scenarios.json in the \
                state directory are played, if it is there.
                """)

        @Option(help: "TCP port; 0 takes a free one.") var port = 2197
        @Option(help: "The directory of certificates and keys.") var state = ".herald/apns"
        @Option(help: "TCP port of the management of broadcast channels; none when not given.") var channelPort: Int?
        @Option(help: "TCP port of the control endpoint (plain HTTP); none when not given.") var controlPort: Int?
        @Option(help: "A bundle id that the provider key may push to; repeatable; default: any.")
        var topic: [String] = []
        @Option(
            name: .customLong("client-ca"),
            help: ArgumentHelp(
                "A PEM file of authorities: clients with a certificate of theirs need no provider token.",
                valueName: "file"))
        var clientCA: String?
        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try SimulatorOptions.checkPorts(port, channelPort, controlPort)
            guard channelPort != 0 else { throw ValidationError("--channel-port takes a port of 1 to 65535.") }
            _ = try options.scenarios()
        }

        func run() async throws {
            guard !options.listsScenarios else { return Terminal.standard.print(Scenario.catalogue()) }
            let log = LogFactory(format: .text, level: .warning, output: .standardError)
            _ = GatewayProcessSetup.bootstrap(log: log)
            let identity = try DevelopmentState.identity(directory: state, topics: topic)
            var configuration = SimulatedAPNS.Configuration(
                identity: identity, wallTimeMilliseconds: options.wallTimeMilliseconds)
            configuration.port = port
            configuration.channelPort = channelPort
            configuration.controlPort = controlPort
            configuration.clientCAFile = clientCA
            configuration.scenarios = try options.scenarios()
            configuration.recordingFile = options.record
            let channelPort = channelPort
            let simulator = SimulatedAPNS(configuration, logger: log.logger(label: "apns")) { port, controlPort in
                Terminal.standard.print(
                    Self.welcome(identity, port: port, channelPort: channelPort, controlPort: controlPort))
            }
            var services: [any Service] = [simulator]
            if !options.quiet { services.append(PushPrinter.phone(simulator.recording)) }
            do {
                try await GatewayProcessSetup.run(services, shutdownLimit: .seconds(2), log: log)
            } catch let error as SimulatorError {
                throw Failure(
                    .unavailable,
                    error.concernsAddress ? "\(error) (--port, --channel-port, --control-port)" : "\(error)")
            }
        }

        /// What to write into a project file.
        static func welcome(
            _ identity: SimulatorIdentity, port: Int, channelPort: Int?, controlPort: Int?
        ) -> String {
            let channels = channelPort.map { "\n  channelEndpoint: 127.0.0.1:\($0)" } ?? ""
            let control = controlPort.map { "\nThe control endpoint is http://127.0.0.1:\($0)." } ?? ""
            return """
                The simulated APNs listens on 127.0.0.1:\(port). For an app's apns block:

                  team: \(identity.teamID)
                  key: \(identity.keyFile)
                  endpoint: 127.0.0.1:\(port)\(channels)
                  trust: \(identity.caFile)
                \(control)
                Press Ctrl-C to stop.
                """
        }
    }
}
