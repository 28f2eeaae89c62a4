import Foundation

/// `herald registration export` and `import` of the program beside this one: a running gateway's registrations are
/// exported to a file, which another gateway with an empty store imports.
final class RegistrationTransfer {
    private let options: GatewayOptions

    /// `nil`: the program has no such commands.
    init?(_ options: GatewayOptions) throws {
        self.options = options
        for command in ["import", "export"] {
            let program = try Program(try GatewayProcess.herald, ["registration", command, "--help"])
            guard program.waitForOutput().contains("herald registration \(command)") else { return nil }
        }
    }

    /// Rows in a second, out and in again.
    func rates(_ devices: Int) async throws -> (exported: Double, imported: Double) {
        let source = try await GatewayBench(GatewayBench.Setup(sizes: [devices]), options)
        let file = source.files.root + "/registrations.ndjson"
        let exported = try run("export", ["--output", file], at: source.client)
        let destination = try await GatewayBench(GatewayBench.Setup(sizes: []), options)
        let imported = try run("import", [file], at: destination.client)
        return (Double(devices) / exported, Double(devices) / imported)
    }

    /// Seconds that the command took.
    private func run(_ command: String, _ words: [String], at client: GatewayClient) throws -> Double {
        let begin = ContinuousClock.now
        let program = try Program(
            try GatewayProcess.herald,
            [
                "registration", command, "--gateway", client.address, "--key", client.key, "--project",
                GatewayFiles.project,
            ] + words, showsErrors: true)
        let output = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("herald registration \(command) failed: \(output)") }
        return (ContinuousClock.now - begin).seconds
    }
}
