import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald quarantine`: registrations whose address their push service refused, at Apple in both environments.
struct QuarantineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine", abstract: "Let broadcasts go to quarantined registrations again.",
        subcommands: [Lift.self])

    /// `herald quarantine lift`.
    struct Lift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lift the quarantines of an app, as after a mix-up of environments or keys.",
            discussion: "A single registration is out of quarantine as soon as its app registers again.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "The app: bundle id, package name or host; of two with one id as android:com.example.app.")
        var app: String
        @Option(help: "Quarantines that began from then on, RFC 3339; default: all.") var since: String?
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func validate() throws {
            if let since, Timestamp(rfc3339: since) == nil {
                throw ValidationError("\"\(since)\" is not a time as 2026-01-02T03:04:05Z.")
            }
        }

        func run() async throws {
            var members: [JSONValue.Member] = [.init("app", .string(app))]
            if let since { members.append(.init("startTime", .string(since))) }
            let answer = try await gateway.client().project(
                .POST, "registrations:liftQuarantine", body: .object(members))
            guard !json else { return Terminal.standard.print(answer.text) }
            guard case .number(let count)? = try answer.json()["liftedCount"] else {
                throw Failure(.unavailable, "the gateway's answer has no count")
            }
            Terminal.standard.print("\(count) registrations are out of quarantine.")
        }
    }
}
