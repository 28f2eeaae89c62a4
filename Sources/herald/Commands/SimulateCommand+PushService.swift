import ArgumentParser
import Logging
import ServiceLifecycle
import Simulators

extension SimulateCommand {
    /// `herald simulate push-service`.
    struct PushService: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "push-service",
            abstract: "Run a simulated push service of browsers on the loopback interface.",
            discussion: """
                It makes its certificates in the state directory, and keeps them. Over the control endpoint it hands out \
                subscriptions as browsers have them, and shows what arrived, decrypted:

                  curl -X POST http://127.0.0.1:2201/subscriptions
                  curl http://127.0.0.1:2201/pushes
                  curl -X PUT http://127.0.0.1:2201/rules/default -d '{"status":429,"retryAfterSeconds":5}'

                With --dialect it deviates from the RFCs and refuses as that service does. Scenarios play a service in \
                trouble; 'herald simulate push-service --scenario list' explains them.
                """)

        @Option(help: "TCP port; 0 takes a free one.") var port = 2200
        @Option(help: "The directory of certificates.") var state = ".herald/push-service"
        @Option(help: "TCP port of the control endpoint (plain HTTP).") var controlPort = 2201
        @Option(help: "Whose service to play: mozilla, google, apple or windows.")
        var dialect = PushServiceDialect.mozilla
        @Option(help: "Pushes a minute, beyond which the sender is slowed down; default: any number.")
        var perMinute: Int?
        @Option(help: "Pushes to one subscription a minute, beyond which it is slowed down; default: any number.")
        var perSubscription: Int?
        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try SimulatorOptions.checkPorts(port, controlPort)
            for number in [perMinute, perSubscription].compactMap({ $0 }) where number < 1 {
                throw ValidationError("\(number) is too small; use 1 or more.")
            }
            _ = try options.scenariosOfAllServices()
        }

        func run() async throws {
            guard !options.listsScenarios else {
                return Terminal.standard.print(Scenario.catalogue(isOfAPNs: false))
            }
            let log = LogFactory(format: .text, level: .warning, output: .standardError)
            _ = GatewayProcessSetup.bootstrap(log: log)
            let identity = try Self.identity(directory: state)
            var configuration = SimulatedPushService.Configuration(
                identity: identity, wallTimeMilliseconds: options.wallTimeMilliseconds)
            configuration.port = port
            configuration.controlPort = controlPort
            configuration.dialect = dialect
            configuration.pushesPerMinute = perMinute
            configuration.pushesPerSubscription = perSubscription
            configuration.recordingFile = options.record
            configuration.scenarios = try options.scenariosOfAllServices()
            let simulator = SimulatedPushService(configuration, logger: log.logger(label: "push-service")) {
                port, controlPort in
                Terminal.standard.print(Self.welcome(identity, port: port, controlPort: controlPort ?? 0))
            }
            var services: [any Service] = [simulator]
            if !options.quiet { services.append(PushPrinter.browser(simulator.recording)) }
            do {
                try await GatewayProcessSetup.run(services, shutdownLimit: .seconds(2), log: log)
            } catch let error as SimulatorError {
                throw Failure(.unavailable, error.concernsAddress ? "\(error) (--port, --control-port)" : "\(error)")
            }
        }

        /// Reads or makes the certificates.
        static func identity(directory: String) throws(Failure) -> PushServiceIdentity {
            do {
                return try PushServiceIdentity(directory: directory)
            } catch {
                throw Failure(.inputOutput, "\(error)")
            }
        }

        /// What to write into a project file.
        static func welcome(_ identity: PushServiceIdentity, port: Int, controlPort: Int) -> String {
            """
            The simulated push service listens on 127.0.0.1:\(port). For a web app's webPush block:

              services: ["127.0.0.1:\(port)"]
              trust: \(identity.caFile)

            The control endpoint is http://127.0.0.1:\(controlPort).
            Press Ctrl-C to stop.
            """
        }
    }
}

extension PushServiceDialect: ExpressibleByArgument {}
