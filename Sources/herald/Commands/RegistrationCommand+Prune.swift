import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

extension RegistrationCommand {
    /// `herald registration prune`.
    struct Prune: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End registrations that are in quarantine for long.",
            discussion:
                "Nothing else removes them: Their push services refused their addresses, but never called them dead.")

        @OptionGroup var gateway: GatewayOptions
        @Flag(help: "Those in quarantine; no others are pruned.") var quarantined = false
        @Option(help: "For at least so long: a number with s, m, h or d, such as 90d.") var olderThan: Age
        @Flag(help: "Say how many it would be, and end none.") var dryRun = false
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        /// A span of time as an argument: `90d`.
        struct Age: ExpressibleByArgument, Hashable {
            /// The span in seconds.
            let seconds: Int

            init?(argument: String) {
                let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
                guard let unit = argument.last.flatMap({ units[$0] }), let count = Int(argument.dropLast()),
                    (0...1_000_000_000).contains(count)
                else { return nil }
                let (seconds, overflows) = count.multipliedReportingOverflow(by: unit)
                guard !overflows, seconds < 1_000_000_000_000 else { return nil }
                self.seconds = seconds
            }
        }

        func validate() throws {
            guard quarantined else { throw ValidationError("Give --quarantined: no others are pruned.") }
        }

        func run() async throws {
            let body = JSONValue.object([
                .init("state", .string("QUARANTINED")), .init("olderThan", .string("\(olderThan.seconds)s")),
                .init("validateOnly", .bool(dryRun)),
            ])
            let answer = try await gateway.client().project(.POST, "registrations:prune", body: body)
            guard !json else { return Terminal.standard.print(answer.text) }
            guard let count = try answer.json()["prunedCount"]?.integerValue else {
                throw Failure(.unavailable, "the gateway's answer has no count")
            }
            Terminal.standard.print("\(count) registrations \(dryRun ? "would end" : "ended").")
        }
    }
}
