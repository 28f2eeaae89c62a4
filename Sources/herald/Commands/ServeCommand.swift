import ArgumentParser
import Logging

/// `herald serve`: the gateway in the foreground, as a supervisor wants it.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the gateway.",
        discussion: """
            Every value of the configuration can be overridden by the environment: HERALD_LISTEN_PORT for listen.port.
            https_proxy and no_proxy hold for projects that name no proxy; SSLKEYLOGFILE gets the TLS secrets of the
            connections to APNs, for debugging.
            With "projects: database" HERALD_SECRETS_KEY is the key of the projects' secrets (herald project --help).
            SIGTERM and Ctrl-C finish what is in flight and end with 0; SIGHUP reads the project files and the listener's
            certificate again.
            Exit codes: 64 arguments, 69 port or store in use, 74 disk, 75 projects of the database that can't be read here,
            78 configuration.
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.read()
        let log = LogFactory(
            format: configuration.log.format, level: configuration.log.level, output: .standardError)
        let metrics = GatewayProcessSetup.bootstrap(log: log)
        let gateway = PatientGateway(
            configuration: configuration, metrics: metrics, logger: log.logger(label: "herald"))
        try await GatewayProcessSetup.run(
            [gateway], shutdownLimit: .seconds(configuration.limits.shutdownSeconds), log: log)
    }
}
