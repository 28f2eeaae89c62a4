import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald channel`: broadcast channels of Live Activities, one publication for all that subscribe.
struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Make, list, show and delete broadcast channels of Live Activities.",
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    /// `--app` and `--environment`.
    struct Home: ParsableArguments {
        @Option(help: "The bundle id; not needed when the project has one Apple app.") var app: String?
        @Option(help: "production or sandbox; the app's own when it is missing.") var environment: PushEnvironment?

        var query: [(String, String)] {
            [("app", app), ("environment", environment?.rawValue)].compactMap { name, value in
                value.map { (name, $0) }
            }
        }

        var members: [JSONValue.Member] { query.map { .init($0.0, .string($0.1)) } }
    }

    /// A channel as an argument.
    struct Name: ParsableArguments {
        @Argument(help: "The channel's name.") var name: String

        func validate() throws {
            guard ChannelName(rawValue: name) != nil else {
                throw ValidationError("\"\(name)\" is not a channel's name; use \(ChannelName.expectation).")
            }
        }

        /// The path of its resource.
        var path: String { "channels/" + GatewayClient.escaped(name) }
    }

    /// `herald channel create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a channel at Apple, or show the one that has the name.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @OptionGroup var home: Home
        @Option(
            help: "What Apple stores: most_recent, the newest publication for 8 hours, or none; it can't be changed.")
        var storagePolicy = StoragePolicy.mostRecent
        @Option(
            name: .customLong("channel-id"), help: "Take over a channel that Apple has already, instead of making one.")
        var channelID: String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            var body =
                home.members + [
                    .init("name", .string(name.name)), .init("storagePolicy", .string(storagePolicy.rawValue)),
                ]
            if let channelID { body.append(.init("channelId", .string(channelID))) }
            let answer = try await gateway.client().project(.POST, "channels", body: .object(body))
            guard !json else { return Terminal.standard.print(answer.text) }
            Terminal.standard.print(ChannelCommand.facts(try answer.json()))
        }
    }

    /// `herald channel show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a channel, and ask Apple whether it is still there.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @OptionGroup var home: Home
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let answer = try await gateway.client().project(.GET, name.path, query: home.query)
            guard !json else { return Terminal.standard.print(answer.text) }
            let channel = try answer.json()
            Terminal.standard.print(ChannelCommand.facts(channel))
            if let error = channel["apple"]?["error"]?.stringValue {
                Terminal.standard.error("warning: Apple could not be asked: \(Table.safe(error))")
            }
        }
    }

    /// `herald channel delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a channel at Apple and here; it can't be brought back.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @OptionGroup var home: Home

        func run() async throws {
            _ = try await gateway.client().project(.DELETE, name.path, query: home.query)
            Terminal.standard.print("Deleted \(name.name).")
        }
    }

    /// A channel, a fact a line.
    static func facts(_ channel: JSONValue) -> String {
        let facts = [
            ("Channel", "name"), ("App", "app"), ("Environment", "environment"), ("Storage", "storagePolicy"),
            ("State", "state"), ("Channel id", "channelId"), ("Registration", "registration"),
            ("Created", "createTime"), ("Lost", "lostTime"),
        ]
        return facts.compactMap { title, name in
            channel[name]?.stringValue.map { title.padded(to: 14) + Table.safe($0) }
        }.joined(separator: "\n")
    }
}
