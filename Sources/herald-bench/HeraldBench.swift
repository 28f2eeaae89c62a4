import ArgumentParser

/// Measures Herald's parts on this machine. Nothing leaves 127.0.0.1, everything ends by itself.
@main
struct HeraldBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herald-bench",
        abstract: "Measures Herald's parts on this machine; nothing leaves 127.0.0.1.",
        subcommands: [EngineCommand.self, SettleCommand.self, SendCommand.self, MeasureCommand.self])
}

/// Why a benchmark can't be run or does not count.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
