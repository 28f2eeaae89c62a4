import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald user`: what is kept of a person.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Erase what is kept of a person.", subcommands: [Erase.self])

    /// `herald user erase`.
    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a user's registrations and remove payloads, names, addresses and receipts.",
            discussion:
                "Needs a key with the role admin. It can't be undone; numbers stay in the ledger, and the audit log with a "
                + "digest in place of the name. Backups and exports that were made before keep what they hold. Asks before "
                + "on a terminal; elsewhere, as in scripts, it erases at once.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The user, as the backend names them.") var user: String
        @Flag(help: "Don't ask.") var yes = false
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            guard let id = UserID(rawValue: user) else {
                throw Failure(.usage, "\(Table.safe(user)) is no user: \(UserID.expectation)")
            }
            if !yes, Terminal.standard.isInteractive { try Self.confirm(id) { Terminal.standard.ask($0) } }
            let answer = try await gateway.client().project(.DELETE, "users/\(GatewayClient.escaped(id.rawValue))")
            guard !json else { return Terminal.standard.print(answer.text) }
            let value = try answer.json()
            Terminal.standard.print(Self.summary(value))
            if let problem = Self.problem(value) { Terminal.standard.error(problem) }
        }

        /// Goes on when the answer is yes.
        static func confirm(_ user: UserID, ask: (String) -> String?) throws(Failure) {
            let question = "Erase what is kept of \(Table.safe(user.rawValue))? It can't be undone. [y/N] "
            guard ["y", "yes"].contains(ask(question)?.lowercased() ?? "") else {
                throw Failure(.refused, "nothing was erased; --yes erases without asking")
            }
        }

        /// What was erased, in a line.
        static func summary(_ answer: JSONValue) -> String {
            let figures = [
                ("registrations", "registrations"), ("messages", "messages"), ("links", "short links"),
                ("receipts", "receipts"), ("deviceGroups", "device groups"), ("auditEntries", "audit entries"),
            ]
            return "erased: "
                + figures.map { "\($0.1): \(answer[$0.0]?.integerValue ?? 0)" }.joined(separator: ", ")
        }

        /// Why files of the store may still hold copies; `nil`: they don't.
        static func problem(_ answer: JSONValue) -> String? {
            guard answer["rewritten"] == .bool(false) else { return nil }
            return switch answer["reason"] {
            case .string("READER"):
                "something reads the store as it was before (a backup, doctor --ledger, sqlite3): its files hold copies "
                    + "until that ends; the gateway goes on trying and logs when it is done"
            case .string("SERVER"):
                "files of the PostgreSQL server may hold copies: of its tables until VACUUM has run on them, of its log, "
                    + "archives and standbys longer"
            default:
                "the store is too large to be rewritten beside the gateway: unused parts of its pages may hold copies "
                    + "until VACUUM runs on it"
            }
        }
    }
}
