import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

extension TopicCommand {
    /// `herald topic list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the topics of a project, with how many registrations each has.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "Only topics that begin so.") var prefix: String?
        @Option(help: "The most to list.") var limit = 1000
        @Flag(help: "Print JSON, an object a line.") var json = false

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
            guard prefix.map({ Topic(rawValue: $0) != nil }) ?? true else {
                throw ValidationError("--prefix takes 1 to 900 of A-Z a-z 0-9 - _ . ~ %.")
            }
        }

        func run() async throws {
            let query = prefix.map { [("prefix", $0)] } ?? []
            let topics = try await gateway.client().elements(of: "topics", "topics", query: query, limit: limit)
            guard !json else { return Terminal.standard.print(topics) }
            var table = Table(titles: ["TOPIC", "REGISTRATIONS"])
            table.rows = topics.map { topic in
                [topic["topic"]?.stringValue ?? "", topic["registrationCount"]?.integerValue.map(String.init) ?? ""]
            }
            topics.isEmpty ? Terminal.standard.print("No topics.") : Terminal.standard.print(table)
        }
    }

    /// `herald topic members`.
    struct Members: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the registrations of a topic.")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The topic, without /topics/.") var topic: String
        @Option(help: "The most to list.") var limit = 1000
        @Flag(help: "Print JSON, an object a line.") var json = false

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
            guard Topic(rawValue: topic) != nil else {
                throw ValidationError("\"\(topic)\" is not a topic; use 1 to 900 of A-Z a-z 0-9 - _ . ~ %.")
            }
        }

        func run() async throws {
            let path = "topics/\(GatewayClient.escaped(topic))/registrations"
            let members = try await gateway.client().elements(of: "registrations", path, limit: limit)
            guard !json else { return Terminal.standard.print(members) }
            var table = Table(titles: ["FID", "APP", "USER", "SUBSCRIBED"])
            table.rows = members.map { member in
                [
                    member["name"]?.stringValue?.split(separator: "/").last.map(String.init) ?? "",
                    member["app"]?.stringValue ?? "", member["user"]?.stringValue ?? "-",
                    member["subscribeTime"]?.stringValue ?? "",
                ]
            }
            members.isEmpty ? Terminal.standard.print("No registrations.") : Terminal.standard.print(table)
        }
    }
}

extension GatewayClient {
    /// The first `limit` elements of a list that comes in pages, below `/v1/projects/<project>/`.
    func elements(
        of name: String, _ path: String, query: [(String, String)] = [], limit: Int
    ) async throws(Failure) -> [JSONValue] {
        var found: [JSONValue] = []
        var token: String?
        repeat {
            var page = query + [("pageSize", String(min(1000, limit - found.count)))]
            if let token { page.append(("pageToken", token)) }
            let answer = try await project(.GET, path, query: page).json()
            found += answer[name]?.elements ?? []
            token = answer["nextPageToken"]?.stringValue
        } while token != nil && found.count < limit
        return found
    }
}
