import ArgumentParser
import Foundation

/// `--config`.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .customLong("config"), help: "The gateway's configuration file.")
    var path = "Config/herald.yaml"

    /// Reads the file and the environment.
    func read() throws(Failure) -> GatewayConfiguration {
        do {
            return try GatewayConfiguration.read(
                file: path, environment: ProcessInfo.processInfo.environment)
        } catch {
            throw error.failure
        }
    }
}
