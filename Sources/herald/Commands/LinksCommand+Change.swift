import ArgumentParser
import JSON
import NIOHTTP1

extension LinksCommand {
    /// `herald links archive`.
    struct ArchiveLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "archive", abstract: "Leave a short link out of lists; it goes on working.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try await LinksCommand.show(name, as: .archived, gateway, json: json)
        }
    }

    /// `herald links unarchive`.
    struct UnarchiveLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unarchive", abstract: "Show a short link in lists, one that never was there too.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try await LinksCommand.show(name, as: .unarchived, gateway, json: json)
        }
    }

    /// `herald links delete`.
    struct DeleteLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Delete a short link: it is answered with 404.",
            discussion:
                "It can't be undone, and no other link gets the suffix. A link that is archived goes on working. Asks before "
                + "on a terminal; elsewhere, as in scripts, it deletes at once.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Don't ask.") var yes = false
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            let client = try gateway.client()
            if !yes, Terminal.standard.isInteractive {
                let link = try await client.link(.GET, name.path).json()
                try Self.confirm(link) { Terminal.standard.ask($0) }
            }
            let answer = try await client.link(.DELETE, name.path).json()
            json ? Terminal.standard.print([answer]) : Terminal.standard.print("Deleted \(Table.safe(name.link)).")
        }

        /// Goes on when the answer is yes.
        static func confirm(_ link: JSONValue, ask: (String) -> String?) throws(Failure) {
            let target = link["info"]?["link"]?.stringValue ?? "nowhere"
            let url = link["link"]?.stringValue ?? ""
            let answer =
                ask("Delete \(Table.safe(url)), which leads to \(Table.safe(target))? [y/N] ")?.lowercased() ?? ""
            guard ["y", "yes"].contains(answer) else {
                throw Failure(.refused, "nothing was deleted; --yes deletes without asking")
            }
        }
    }

    /// Has lists show a link so, and prints it.
    private static func show(
        _ name: Name, as visibility: Visibility, _ gateway: GatewayOptions, json: Bool
    ) async throws {
        let body = JSONValue.object([.init("visibility", .string(visibility.wire))])
        let answer = try await gateway.client().link(.PATCH, name.path, body: body).json()
        json ? Terminal.standard.print([answer]) : show(answer["managedShortLink"] ?? answer)
    }
}
