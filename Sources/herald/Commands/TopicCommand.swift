import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald topic`: who gets the messages of which topic.
struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "Subscribe registrations to topics, and list topics and who is subscribed.",
        subcommands: [Subscribe.self, Unsubscribe.self, List.self, Members.self])

    /// What both subcommands take.
    struct Arguments: ParsableArguments {
        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The topic, without /topics/.") var topic: String
        @Argument(help: "Registration tokens.") var tokens: [String]
        @Flag(help: "Print JSON: for each token, in order, {} or its error, an object a line.") var json = false

        func validate() throws {
            guard Topic(rawValue: topic) != nil else {
                throw ValidationError("\"\(topic)\" is not a topic; use 1 to 900 of A-Z a-z 0-9 - _ . ~ %.")
            }
        }

        /// Calls `verb` for each token; reports each, fails at the end when one failed.
        func run(_ verb: String, done: String) async throws {
            let client = try gateway.client()
            var failures = 0
            var results: [JSONValue] = []
            for (index, token) in tokens.enumerated() {
                guard let refusal = try await Self.refusal(of: verb, token, topic, client) else {
                    results.append(.object([]))
                    continue
                }
                failures += 1
                results.append(.object([.init("error", .string(refusal.message))]))
                Terminal.standard.error("herald: token \(index + 1): \(refusal.message)")
            }
            if json {
                Terminal.standard.print(results)
            } else if tokens.count > failures {
                Terminal.standard.print("\(tokens.count - failures) \(done) \(topic).")
            }
            guard failures == 0 else { throw Failure(.refused, "\(failures) of \(tokens.count) failed") }
        }

        /// What the gateway has against one token: the others may still go through. A gateway that can't be reached
        /// ends the command.
        private static func refusal(
            of verb: String, _ token: String, _ topic: String, _ client: GatewayClient
        ) async throws(Failure) -> Failure? {
            let path =
                "registrations/\(GatewayClient.escaped(token))/topicSubscriptions/\(GatewayClient.escaped(topic))"
            do {
                _ = try await client.project(.POST, "\(path):\(verb)")
                return nil
            } catch {
                guard error.code == .refused else { throw error }
                return error
            }
        }
    }

    /// `herald topic subscribe`.
    struct Subscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Subscribe registrations to a topic.")
        @OptionGroup var arguments: Arguments

        func run() async throws {
            try await arguments.run("subscribe", done: "subscribed to")
        }
    }

    /// `herald topic unsubscribe`.
    struct Unsubscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End subscriptions to a topic.")
        @OptionGroup var arguments: Arguments

        func run() async throws {
            try await arguments.run("unsubscribe", done: "unsubscribed from")
        }
    }
}
