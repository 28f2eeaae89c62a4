import ArgumentParser
import Foundation

/// What all benchmarks of a whole gateway have in common.
struct GatewayOptions: ParsableArguments {
    @Option(help: "Cores of the gateway and of what it is compared with, as taskset has it.") var senderCores = Cores
        .senders
    @Option(help: "Cores of the sink and of clients.") var sinkCores = Cores.sinks
    @Option(help: "Where the store is made; removed afterwards. On tmpfs no byte counts as written.")
    var directory = FileManager.default.temporaryDirectory.path
    @Flag(help: "Print JSON.") var json = false
}

/// How the machine's cores are shared out unless the caller says: half of at most four to each side.
enum Cores {
    private static let each = min(2, max(1, ProcessInfo.processInfo.activeProcessorCount / 2))

    /// Of the senders: the first ones.
    static let senders = each == 1 ? "0" : "0-1"
    /// Of the sink and of clients: those behind them; a machine with one core has the same for both.
    static let sinks = each == 2 ? "2-3" : ProcessInfo.processInfo.activeProcessorCount > 1 ? "1" : "0"
}

/// Sizes as an argument: `1000,10000`.
struct SizesArgument: ExpressibleByArgument, Sendable {
    let values: [Int]

    init(_ values: [Int]) {
        self.values = values
    }

    init?(argument: String) {
        let values = argument.split(separator: ",").map { Int($0) }
        guard !values.isEmpty, values.allSatisfy({ (1...10_000_000).contains($0 ?? 0) }) else { return nil }
        self.values = values.compactMap { $0 }
    }

    var defaultValueDescription: String { values.map(String.init).joined(separator: ",") }
}
