import ArgumentParser
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
        @Flag(help: "Print JSON.") var json = false

        enum State: String, CaseIterable, ExpressibleByArgument {
            case active, quarantined, stale
        }

        func validate() throws {
            if user != nil, state != nil { throw ValidationError("Give --user or --state.") }
            if let user, UserID(rawValue: user) == nil { throw ValidationError("--user takes \(UserID.expectation).") }
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
        }

        func run() async throws {
            let client = try gateway.client()
            var query: [(String, String)] = []
            if let user {
                let text = user.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                query.append(("filter", "user=\"\(text)\""))
            } else if let state {
                query.append(("filter", "state=\(state.rawValue.uppercased())"))
            }
            var found: [JSONValue] = []
            var token: String?
            repeat {
                var page = query + [("pageSize", String(min(1000, limit - found.count)))]
                if let token { page.append(("pageToken", token)) }
                let answer = try await client.project(.GET, "registrations", query: page).json()
                if case .array(let elements)? = answer["registrations"] { found += elements }
                token = answer["nextPageToken"]?.stringValue
            } while token != nil && found.count < limit
            print(found)
        }

        private func print(_ found: [JSONValue]) {
            guard !json else {
                let list = JSONValue.object([.init("registrations", .array(found))])
                return Console.standard.print(String(decoding: list.bytes, as: UTF8.self))
            }
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
            Console.standard.print(found.isEmpty ? "No registrations." : table.lines.joined(separator: "\n"))
        }
    }

    /// `herald registration audit`.
    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show who followed whom on a device, the newest first.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The installation id or registration token, also of one that ended.") var registration: String
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            let path = "registrations/\(GatewayClient.escaped(registration))/audit"
            let answer = try await gateway.client().project(.GET, path)
            guard !json else { return Console.standard.print(answer.text) }
            guard case .array(let entries)? = try answer.json()["entries"] else {
                return Console.standard.print("Its owner never changed.")
            }
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
            Console.standard.print(table.lines.joined(separator: "\n"))
        }
    }
}
