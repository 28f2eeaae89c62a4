import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

extension WebhookCommand {
    /// `herald webhook attempts`.
    struct Attempts: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the requests to a webhook, the newest first, or what was given up.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID
        @Option(help: "The most to list.") var limit = 50
        @Flag(help: "List dead letters instead: events that were given up.") var deadLetters = false
        @Flag(help: "Print JSON: a list.") var json = false

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
        }

        func run() async throws {
            let name = deadLetters ? "deadLetters" : "attempts"
            let client = try gateway.client()
            var found: [JSONValue] = []
            var token: String?
            repeat {
                var query = [("pageSize", String(min(1000, limit - found.count)))]
                if let token { query.append(("pageToken", token)) }
                let answer = try await client.project(.GET, "\(id.path)/\(name)", query: query).json()
                found += answer[name]?.elements ?? []
                token = answer["nextPageToken"]?.stringValue
            } while token != nil && found.count < limit
            guard !json else {
                return Terminal.standard.print(String(decoding: JSONValue.array(found).bytes, as: UTF8.self))
            }
            guard !found.isEmpty else { return Terminal.standard.print("None.") }
            Terminal.standard.print(deadLetters ? Self.letters(found) : Self.table(found))
        }

        /// A line for each request.
        static func table(_ attempts: [JSONValue]) -> Table {
            var table = Table(titles: ["TIME", "TYPE", "EVENTS", "STATUS", "LATENCY", "FAILURE", "WEBHOOK-ID"])
            table.rows = attempts.map { attempt in
                [
                    attempt["time"]?.stringValue ?? "-", attempt["type"]?.stringValue ?? "-",
                    attempt["events"]?.integerValue.map(String.init) ?? "-",
                    attempt["status"]?.integerValue.map(String.init) ?? "-", attempt["latency"]?.stringValue ?? "-",
                    attempt["failure"]?.stringValue ?? "-", attempt["webhookId"]?.stringValue ?? "-",
                ]
            }
            return table
        }

        private static func letters(_ letters: [JSONValue]) -> Table {
            var table = Table(titles: ["SEQUENCE", "TYPE", "GIVEN UP", "FAILURE"])
            table.rows = letters.map { letter in
                [
                    letter["sequence"]?.integerValue.map(String.init) ?? "-", letter["type"]?.stringValue ?? "-",
                    letter["time"]?.stringValue ?? "-", letter["failure"]?.stringValue ?? "-",
                ]
            }
            return table
        }
    }

    /// `herald webhook state`.
    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Enable a webhook, which goes on where it stopped, or disable it.")

        /// What it may be set to.
        enum Word: String, ExpressibleByArgument, CaseIterable {
            case enable, disable
        }

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID
        @Argument(help: "enable or disable.") var word: Word

        func run() async throws {
            let state = word == .enable ? "ENABLED" : "DISABLED"
            let body = JSONValue.object([.init("state", .string(state))])
            let answer = try await gateway.client().project(.PATCH, id.path, body: body)
            Terminal.standard.print(WebhookCommand.facts(try answer.json()))
        }
    }
}
