import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald webhook`: endpoints that get a project's events.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Make, list, test, rotate, replay and delete webhooks.",
        subcommands: [
            Create.self, List.self, Test.self, Rotate.self, Replay.self, Attempts.self, State.self, Delete.self,
        ])

    /// A webhook as an argument.
    struct ID: ParsableArguments {
        @Argument(help: "The webhook's id, or its whole name.") var webhook: String

        /// The path of its resource.
        var path: String {
            "webhooks/" + GatewayClient.escaped(webhook.split(separator: "/").last.map(String.init) ?? webhook)
        }
    }

    /// `herald webhook create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a webhook and print its secret, which is shown only now.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Where events go: an https URL.") var url: String
        @Option(
            name: .customLong("type"), parsing: .singleValue,
            help: "A type of events, such as message.finished or delivery.rejected; may be repeated.")
        var types: [String] = ["message.finished"]
        @Option(help: "What people call it.") var description: String?
        @Option(help: ArgumentHelp("now, beginning or an RFC 3339 time.", valueName: "start")) var startFrom: String?
        @Option(
            name: .customLong("app"), parsing: .singleValue,
            help: "Only of this app: its id, or platform:id where several have it; may be repeated.")
        var apps: [String] = []
        @Option(name: .customLong("label"), parsing: .singleValue, help: "Only of this label; may be repeated.")
        var labels: [String] = []
        @Option(name: .customLong("topic"), parsing: .singleValue, help: "Only of this topic; may be repeated.")
        var topics: [String] = []
        @Flag(help: "Only what went wrong.") var onlyFailures = false
        @Flag(help: "Sign with a key pair (v1a) too.") var asymmetric = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            var body: [JSONValue.Member] = [
                .init("url", .string(url)), .init("types", .array(types.map { .string($0) })),
            ]
            if let description { body.append(.init("description", .string(description))) }
            if let startFrom { body.append(.init("startFrom", .string(startFrom))) }
            if asymmetric { body.append(.init("asymmetric", .bool(true))) }
            var filter = [("apps", apps), ("labels", labels), ("topics", topics)].filter { !$0.1.isEmpty }
                .map { JSONValue.Member($0.0, .array($0.1.map { .string($0) })) }
            if onlyFailures { filter.append(.init("onlyFailures", .bool(true))) }
            if !filter.isEmpty { body.append(.init("filter", .object(filter))) }
            let answer = try await gateway.client().project(.POST, "webhooks", body: .object(body))
            guard !json else { return Terminal.standard.print(answer.text) }
            let webhook = try answer.json()
            Terminal.standard.print(WebhookCommand.facts(webhook))
            WebhookCommand.printSecrets(webhook)
        }
    }

    /// `herald webhook list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the webhooks of a project.")

        @OptionGroup var gateway: GatewayOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let answer = try await gateway.client().project(.GET, "webhooks")
            guard !json else { return Terminal.standard.print(answer.text) }
            let webhooks = try answer.json()["webhooks"]?.elements ?? []
            webhooks.isEmpty ? Terminal.standard.print("No webhooks.") : Terminal.standard.print(Self.table(webhooks))
        }

        /// A line for each webhook.
        static func table(_ webhooks: [JSONValue]) -> Table {
            var table = Table(titles: ["WEBHOOK", "STATE", "FAILING SINCE", "TYPES", "URL"])
            table.rows = webhooks.map { webhook in
                let types = webhook["types"]?.elements.compactMap(\.stringValue).joined(separator: ",") ?? "-"
                return [
                    WebhookCommand.id(webhook), webhook["state"]?.stringValue ?? "-",
                    webhook["failingSince"]?.stringValue ?? "-", types, webhook["url"]?.stringValue ?? "-",
                ]
            }
            return table
        }
    }

    /// `herald webhook test`.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a signed webhook.test now and show what came of it.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let answer = try await gateway.client().project(.POST, id.path + ":test", body: .object([]))
            let attempt = try answer.json()
            if json { Terminal.standard.print(answer.text) } else { Terminal.standard.print(Attempts.table([attempt])) }
            guard attempt["isSuccess"] == .bool(true) else {
                let detail = attempt["detail"]?.stringValue ?? "it answered \(attempt["status"]?.integerValue ?? 0)"
                throw Failure(.unavailable, "the webhook was not taken: \(Table.safe(detail))")
            }
        }
    }

    /// `herald webhook rotate`.
    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make new secrets and print them; the old ones sign too for a while.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID
        @Option(help: ArgumentHelp("How long old secrets sign too, in seconds.", valueName: "seconds"))
        var overlap = 86_400
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let body = JSONValue.object([.init("overlap", .string("\(overlap)s"))])
            let answer = try await gateway.client().project(.POST, id.path + ":rotateSecret", body: body)
            guard !json else { return Terminal.standard.print(answer.text) }
            WebhookCommand.printSecrets(try answer.json())
        }
    }

    /// `herald webhook replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send events once more, with the ids that they had.",
            discussion: "With --dry-run it only counts them.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID
        @Option(help: "The first event: its sequence or a time; the oldest that is kept when it is missing.")
        var from: String?
        @Option(help: "The last event: its sequence or a time; the last that was sent when it is missing.")
        var to: String?
        @Option(name: .customLong("type"), parsing: .singleValue, help: "Only of this type; may be repeated.")
        var types: [String] = []
        @Flag(help: "Only dead letters: events that were given up.") var onlyFailed = false
        @Flag(help: "Only count.") var dryRun = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            var body: [JSONValue.Member] = [
                .init("onlyFailed", .bool(onlyFailed)), .init("dryRun", .bool(dryRun)),
            ]
            if let from { body.append(.init("from", .string(from))) }
            if let to { body.append(.init("to", .string(to))) }
            if !types.isEmpty { body.append(.init("types", .array(types.map { .string($0) }))) }
            let answer = try await gateway.client().project(.POST, id.path + ":replay", body: .object(body))
            guard !json else { return Terminal.standard.print(answer.text) }
            let result = try answer.json()
            let count = result["events"]?.integerValue ?? 0
            let amount = result["isExact"] == .bool(true) ? "\(count)" : "about \(count)"
            Terminal.standard.print("\(amount) events \(dryRun ? "would be sent" : "are sent") once more.")
        }
    }

    /// `herald webhook delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a webhook.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var id: ID

        func run() async throws {
            _ = try await gateway.client().project(.DELETE, id.path)
            Terminal.standard.print("Deleted \(Table.safe(id.webhook)).")
        }
    }

    /// The id within the whole name.
    static func id(_ webhook: JSONValue) -> String {
        webhook["name"]?.stringValue?.split(separator: "/").last.map(String.init) ?? "-"
    }

    /// A webhook, a fact a line.
    static func facts(_ webhook: JSONValue) -> String {
        let types = webhook["types"]?.elements.compactMap(\.stringValue).joined(separator: ", ")
        let facts = [
            ("Webhook", id(webhook)), ("URL", webhook["url"]?.stringValue), ("Types", types),
            ("State", webhook["state"]?.stringValue),
            ("Begins after", webhook["lastSequence"]?.integerValue.map(String.init)),
        ]
        return facts.compactMap { title, text in text.map { title.padded(to: 14) + Table.safe($0) } }
            .joined(separator: "\n")
    }

    /// The secrets that are shown, each on a line of its own.
    static func printSecrets(_ webhook: JSONValue) {
        for secret in webhook["secrets"]?.elements ?? [] {
            if let value = secret["value"]?.stringValue { Terminal.standard.print("Secret".padded(to: 14) + value) }
            if let key = secret["publicKey"]?.stringValue { Terminal.standard.print("Public key".padded(to: 14) + key) }
        }
    }
}
