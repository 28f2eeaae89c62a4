import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

extension RegistrationCommand {
    /// `herald registration list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List registrations by user or state.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "Only those of this user.") var user: String?
        @Option(help: "active, quarantined or stale.") var state: State?
        @Option(help: "The most to list.") var limit = 1000
        @Flag(help: "Print JSON, an object a line.") var json = false

        enum State: String, CaseIterable, ExpressibleByArgument {
            case active, quarantined, stale
        }

        func validate() throws {
            if user != nil, state != nil { throw ValidationError("Give --user or --state.") }
            if let user, UserID(rawValue: user) == nil { throw ValidationError("--user takes \(UserID.expectation).") }
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
        }

        /// The filter for the registrations of a user.
        static func filter(user: String) -> String {
            "user=\"\(user.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }

        func run() async throws {
            let client = try gateway.client()
            var query: [(String, String)] = []
            if let user {
                query.append(("filter", Self.filter(user: user)))
            } else if let state {
                query.append(("filter", "state=\(state.rawValue.uppercased())"))
            }
            let found = try await client.elements(of: "registrations", "registrations", query: query, limit: limit)
            guard !json else { return Terminal.standard.print(found) }
            var table = Table(titles: ["FID", "APP", "USER", "STATE", "REFRESHED"])
            table.rows = found.map { value in
                let isStale = value["stale"] == .bool(true)
                return [
                    value["name"]?.stringValue?.split(separator: "/").last.map(String.init) ?? "",
                    value["app"]?.stringValue ?? "", value["user"]?.stringValue ?? "-",
                    (value["state"]?.stringValue ?? "") + (isStale ? ", stale" : ""),
                    value["refreshTime"]?.stringValue ?? "",
                ]
            }
            found.isEmpty ? Terminal.standard.print("No registrations.") : Terminal.standard.print(table)
        }
    }

    /// `herald registration audit`.
    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show who followed whom on a device, the newest first.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The installation id or registration token, also of one that ended.") var registration: String
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let path = "registrations/\(GatewayClient.escaped(registration))/audit"
            let entries = try await gateway.client().project(.GET, path).json()["entries"]?.elements ?? []
            guard !json else { return Terminal.standard.print(entries) }
            guard !entries.isEmpty else { return Terminal.standard.print("Its owner never changed.") }
            var table = Table(titles: ["TIME", "CAUSE", "REGISTRATION", "USER", "FORMER", "FORMER USER"])
            table.rows = entries.map { entry in
                let id = { (name: String) in
                    entry[name]?.stringValue?.split(separator: "/").last.map(String.init) ?? "-"
                }
                return [
                    entry["time"]?.stringValue ?? "", entry["cause"]?.stringValue ?? "", id("registration"),
                    entry["user"]?.stringValue ?? "-", id("formerRegistration"),
                    entry["formerUser"]?.stringValue ?? "-",
                ]
            }
            Terminal.standard.print(table)
        }
    }
}
