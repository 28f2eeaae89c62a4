import ArgumentParser
import Logging
import ServiceLifecycle
import Simulators

extension SimulateCommand {
    /// `herald simulate google`.
    struct Google: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "google",
            abstract: "Run a simulated Google (access tokens and FCM) on the loopback interface.",
            discussion: """
                It makes its certificates and the key file of a service account in the state directory, and keeps them. \
                Tokens of Android devices have the form of Google's, two words of eight characters or more with a colon \
                between them. One that begins with the name of an answer always gets it, for example

                  unregistered-1:APA91bExample    mismatch-1:APA91bExample    unavailable-1:APA91bExample

                Everything else is set by rules over the control endpoint. Scenarios play a Google in trouble, over \
                HTTP/2; 'herald simulate google --scenario list' explains them.
                """)

        @Option(help: "TCP port; 0 takes a free one.") var port = 2199
        @Option(help: "The directory of certificates and of the service account's key file.")
        var state = ".herald/google"
        @Option(help: "The id of the Firebase project.") var project = "demo-upstream"
        @Option(help: "TCP port of the control endpoint (plain HTTP); none when not given.") var controlPort: Int?
        @Option(help: "Messages a minute, beyond which the project gets 429; default: any number.") var perMinute: Int?
        @Option(help: "Messages to one device a minute, beyond which it gets 429; default: any number.")
        var perDevice: Int?
        @Option(help: "Requests after which a connection says GOAWAY; default: never.") var goAwayAfter: Int?
        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try SimulatorOptions.checkPorts(port, controlPort)
            _ = try options.scenariosOfAllServices()
            for number in [perMinute, perDevice, goAwayAfter].compactMap({ $0 }) where number < 1 {
                throw ValidationError("\(number) is too small; use 1 or more.")
            }
        }

        func run() async throws {
            guard !options.listsScenarios else {
                return Terminal.standard.print(Scenario.catalogue(isOfAPNs: false))
            }
            let log = LogFactory(format: .text, level: .warning, output: .standardError)
            _ = GatewayProcessSetup.bootstrap(log: log)
            let identity: GoogleIdentity
            do {
                identity = try GoogleIdentity(directory: state, projectID: project)
            } catch {
                throw Failure(.unavailable, "\(error)")
            }
            let simulator = SimulatedGoogle(try configuration(identity), logger: log.logger(label: "google")) {
                port, controlPort in
                Terminal.standard.print(Self.welcome(identity, port: port, controlPort: controlPort))
            }
            var services: [any Service] = [simulator]
            if !options.quiet { services.append(PushPrinter.android(simulator.recording)) }
            do {
                try await GatewayProcessSetup.run(services, shutdownLimit: .seconds(2), log: log)
            } catch let error as SimulatorError {
                throw Failure(.unavailable, error.concernsAddress ? "\(error) (--port, --control-port)" : "\(error)")
            }
        }

        private func configuration(_ identity: GoogleIdentity) throws -> SimulatedGoogle.Configuration {
            var configuration = SimulatedGoogle.Configuration(
                identity: identity, wallTimeMilliseconds: options.wallTimeMilliseconds)
            configuration.scenarios = try options.scenariosOfAllServices()
            configuration.port = port
            configuration.controlPort = controlPort
            configuration.messagesPerMinute = perMinute
            configuration.messagesPerDevice = perDevice
            configuration.goAwayAfter = goAwayAfter
            configuration.recordingFile = options.record
            return configuration
        }

        /// What to write into a project file.
        static func welcome(_ identity: GoogleIdentity, port: Int, controlPort: Int?) -> String {
            let control = controlPort.map { "\nThe control endpoint is http://127.0.0.1:\($0)." } ?? ""
            return """
                The simulated Google listens on 127.0.0.1:\(port). For an Android app's fcm block:

                  serviceAccount: \(identity.accountFile)
                  endpoint: 127.0.0.1:\(port)
                  trust: \(identity.caFile)
                \(control)
                Press Ctrl-C to stop.
                """
        }
    }
}
