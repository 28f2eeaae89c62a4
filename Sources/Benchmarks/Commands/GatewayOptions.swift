import ArgumentParser
import Foundation

/// What all benchmarks of a whole gateway have in common.
struct GatewayOptions: ParsableArguments {
    @Option(help: "Cores of the gateway and of what it is compared with, as taskset has it.") var senderCores = "0-1"
    @Option(help: "Cores of the sink and of clients.") var sinkCores = "2-3"
    @Option(help: "Where the store is made; removed afterwards. On tmpfs no byte counts as written.")
    var directory = FileManager.default.temporaryDirectory.path
    @Flag(help: "Print JSON.") var json = false
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
