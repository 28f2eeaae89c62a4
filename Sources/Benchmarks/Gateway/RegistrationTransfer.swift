import Foundation
import PushModel
import Store

/// `herald registration export` and `import` of the program beside this one: the registrations of one store are exported
/// to a file, which is imported into an empty one.
struct RegistrationTransfer {
    let options: GatewayOptions

    /// Rows in a second, out and in again.
    func rates(_ devices: Int) async throws -> (exported: Double, imported: Double) {
        let scratch = try Scratch()
        // Nothing is sent: the port only has to be one.
        let setup = GatewayFiles.Setup(sinkPort: 9)
        let source = try GatewayFiles(setup, scratch: scratch, in: options.directory)
        let destination = try GatewayFiles(setup, scratch: scratch, in: options.directory)
        _ = try await Audience.make([devices], in: source.data)
        let file = source.root + "/registrations.ndjson"
        let exported = try run("export", file, in: source)
        let imported = try run("import", file, in: destination)
        let found = try await Audience.count(in: destination.data)
        guard found == devices else { throw BenchFailure("of \(devices) registrations \(found) were imported") }
        return (Double(devices) / exported, Double(devices) / imported)
    }

    /// Seconds that the command took.
    private func run(_ command: String, _ file: String, in files: GatewayFiles) throws -> Double {
        let words = [
            "-c", options.senderCores, try GatewayProcess.herald, "registration", command, file, "--project",
            GatewayFiles.project, "--config", files.configuration,
        ]
        let begin = ContinuousClock.now
        let program = try Program(try Program.find("taskset", package: "util-linux"), words, showsErrors: true)
        let output = program.waitForOutput()
        let seconds = (ContinuousClock.now - begin).seconds
        guard program.status == 0 else { throw BenchFailure("herald registration \(command) failed: \(output)") }
        return seconds
    }
}
