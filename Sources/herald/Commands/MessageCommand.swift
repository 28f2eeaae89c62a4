import ArgumentParser
import NIOHTTP1
import PushModel

/// `herald message`: looks at messages that are being delivered, and holds or ends them.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "List messages, and pause, resume or cancel a running one.",
        subcommands: [List.self, ReportCommand.self, Pause.self, Resume.self, Cancel.self])

    /// A message as an argument.
    struct Name: ParsableArguments {
        @Argument(help: "The message: its id or its whole name.") var message: String

        /// The id.
        var id: MessageID {
            get throws(Failure) { try MessageCommand.id(message) }
        }
    }

    /// The id of a message that is given as an id or as a whole name.
    static func id(_ text: String) throws(Failure) -> MessageID {
        guard let id = MessageID(rawValue: text.split(separator: "/").last.map(String.init) ?? text) else {
            throw Failure(.usage, "\"\(Table.safe(text))\" is not a message id; herald message list has them")
        }
        return id
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List messages, the newest first.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "Only those in a state: \(MessageStateFilter.allCases.map(\.rawValue).joined(separator: ", ")).")
        var state: MessageStateFilter?
        @Option(help: "How many messages to list.") var limit = 20
        @Flag(help: "Print the messages as JSON, one a line.") var json = false

        func validate() throws {
            guard (1...100_000).contains(limit) else { throw ValidationError("--limit takes 1 to 100000.") }
        }

        func run() async throws {
            try await MessageList(state: state, limit: limit).show(of: gateway.client(), json: json)
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hold a message: what is not on its way yet waits until it is resumed.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageReport.show(await gateway.client().project(.POST, "messages/\(name.id):pause"), json: json)
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a paused message go on.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageReport.show(await gateway.client().project(.POST, "messages/\(name.id):resume"), json: json)
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a message: what is not on its way yet is not sent, and counts as cancelled.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            try MessageReport.show(await gateway.client().project(.POST, "messages/\(name.id):cancel"), json: json)
        }
    }
}
