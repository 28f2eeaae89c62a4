import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald why`: why a device, or all of a user's, got a message or not.
struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Say why a device gets pushes or not, or got a message or not.",
        discussion: "--user needs a key with the role admin.")

    @OptionGroup var gateway: GatewayOptions
    @Option(help: "All devices of a user.") var user: String?
    @Option(help: "One device: its registration token.") var token: String?
    @Option(help: "One device: its FID.") var fid: String?
    @Option(help: "A message: its id or its whole name. Without one: in general.") var message: String?
    @Flag(help: "Print JSON, an object a line for each device.") var json = false

    func validate() throws {
        guard [user, token, fid].compactMap({ $0 }).count == 1 else {
            throw ValidationError("Give exactly one of --user, --token and --fid.")
        }
        if let user, UserID(rawValue: user) == nil { throw ValidationError("--user takes \(UserID.expectation).") }
    }

    func run() async throws {
        let client = try gateway.client()
        let query =
            try message.map { text throws(Failure) in [("message", try MessageCommand.id(text).rawValue)] } ?? []
        let names = try await names(client)
        guard !names.isEmpty else {
            throw Failure(.refused, "the user \(Table.safe(user ?? "")) has no active registration")
        }
        for (index, name) in names.enumerated() {
            let answer = try await client.project(
                .GET, "registrations/\(GatewayClient.escaped(name)):why", query: query)
            guard !json else {
                Terminal.standard.print(answer.text)
                continue
            }
            if index > 0 { Terminal.standard.print("") }
            Terminal.standard.print(Self.lines(try answer.json()).joined(separator: "\n"))
        }
    }

    /// The FIDs or the token to ask about.
    private func names(_ client: GatewayClient) async throws(Failure) -> [String] {
        guard let user else { return [token ?? fid ?? ""] }
        let query = [("filter", RegistrationCommand.List.filter(user: user))]
        return try await client.elements(of: "registrations", "registrations", query: query, limit: 1000)
            .compactMap { $0["name"]?.stringValue?.split(separator: "/").last.map(String.init) }
    }

    /// The verdict, then the rows that it comes from.
    static func lines(_ value: JSONValue) -> [String] {
        let last = { (name: String, value: JSONValue) in
            value[name]?.stringValue?.split(separator: "/").last.map(String.init) ?? ""
        }
        var lines = [
            "\(last("name", value)) (\(value["app"]?.stringValue ?? "")): \(value["text"]?.stringValue ?? "")"
        ].map(Table.safe)
        var table = Table(titles: ["MESSAGE", "OUTCOME", "REASON", "ATTEMPTS", "ENDED"])
        table.rows = (value["deliveries"]?.elements ?? []).map { row in
            [
                last("message", row), row["outcome"]?.stringValue ?? "", row["reason"]?.stringValue ?? "-",
                row["attempts"]?.integerValue.map(String.init) ?? "", row["endTime"]?.stringValue ?? "-",
            ]
        }
        if !table.rows.isEmpty { lines += [""] + table.lines }
        return lines
    }
}
