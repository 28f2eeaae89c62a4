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
            abstract: "End a user's registrations and remove payloads, names, audits and receipts.",
            discussion:
                "Needs a key with the role admin. It can't be undone; numbers stay in the ledger. Backups and exports "
                + "that were made before keep what they hold.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The user, as the backend names them.") var user: String
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            guard let id = UserID(rawValue: user) else {
                throw Failure(.usage, "\(Table.safe(user)) is no user: \(UserID.expectation)")
            }
            let answer = try await gateway.client().project(.DELETE, "users/\(GatewayClient.escaped(id.rawValue))")
            guard !json else { return Console.standard.print(answer.text) }
            let value = try answer.json()
            let parts = ["registrations", "messages", "receipts", "auditEntries"].map { name in
                let title = name == "auditEntries" ? "audit entries" : name
                return "\(title): \(value[name]?.integerValue ?? 0)"
            }
            Console.standard.print("erased: " + parts.joined(separator: ", "))
            guard value["rewritten"] == .bool(false) else { return }
            Console.standard.error(
                "the store is too large to be rewritten beside the gateway: unused parts of its pages may hold copies until "
                    + "VACUUM runs on it")
        }
    }
}
