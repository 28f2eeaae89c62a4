import ArgumentParser
import NIOHTTP1
import PushModel

/// `herald message`: looks at messages that are being delivered, and holds or ends them.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "List messages, and pause, resume or cancel a running one.",
        subcommands: [List.self, Report.self, Pause.self, Resume.self, Cancel.self])

    /// A message as an argument.
    struct Name: ParsableArguments {
        @Argument(help: "The message: its id or its whole name.") var message: String

        /// The id.
        var id: MessageID {
            get throws(Failure) {
                let id = message.split(separator: "/").last.map(String.init) ?? message
                guard let id = MessageID(rawValue: id) else {
                    let text = Table.safe(message)
                    throw Failure(.usage, "\"\(text)\" is not a message id; herald message list has them")
                }
                return id
            }
        }
    }

    /// The states that are listed.
    enum State: String, ExpressibleByArgument, CaseIterable {
        case active, paused, cancelled, complete
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List messages, the newest first.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "Only those in a state: \(State.allCases.map(\.rawValue).joined(separator: ", ")).")
        var state: State?
        @Option(help: "How many messages to list.") var limit = 20
        @Flag(help: "Print the messages as JSON, one a line.") var json = false

        func validate() throws {
            guard (1...100_000).contains(limit) else { throw ValidationError("--limit takes 1 to 100000.") }
        }

        func run() async throws {
            let messages = try await messages(gateway.client())
            guard !json else {
                for message in messages { Console.standard.print(String(decoding: message.bytes, as: UTF8.self)) }
                return
            }
            let lines = MessageReport.table(messages.map(MessageReport.init)).lines
            Console.standard.print(messages.isEmpty ? "No messages." : lines.joined(separator: "\n"))
        }

        /// Reads page after page until there are enough.
        private func messages(_ client: GatewayClient) async throws(Failure) -> [JSONValue] {
            var messages: [JSONValue] = []
            var token: String?
            repeat {
                var query = [("pageSize", String(min(1000, limit - messages.count)))]
                if let state { query.append(("filter", "state=\(state.rawValue.uppercased())")) }
                if let token { query.append(("pageToken", token)) }
                let page = try await client.project(.GET, "messages", query: query).json()
                messages += page["messages"]?.elements ?? []
                token = page["nextPageToken"]?.stringValue
            } while token != nil && messages.count < limit
            return messages
        }
    }

    struct Report: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what became of a message.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageCommand.show(await gateway.client().project(.GET, "messages/\(name.id)"), json: json)
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hold a message: what is not on its way yet waits until it is resumed.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageCommand.show(await gateway.client().project(.POST, "messages/\(name.id):pause"), json: json)
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a paused message go on.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageCommand.show(await gateway.client().project(.POST, "messages/\(name.id):resume"), json: json)
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a message: what is not on its way yet is not sent, and counts as cancelled.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageCommand.show(await gateway.client().project(.POST, "messages/\(name.id):cancel"), json: json)
        }
    }

    /// Prints a report as it came, or its picture.
    private static func show(_ answer: GatewayClient.Answer, json: Bool) throws(Failure) {
        guard !json else { return Console.standard.print(answer.text) }
        let report = MessageReport(try answer.json())
        Console.standard.print(report.lines(width: Console.standard.width).joined(separator: "\n"))
    }
}
