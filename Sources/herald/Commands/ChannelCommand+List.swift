import ArgumentParser
import JSON
import NIOHTTP1

extension ChannelCommand {
    /// `herald channel list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List an app's channels, and what Apple's own list has beside them.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var home: Home
        @Option(help: "The most to list.") var limit = 1000
        @Flag(help: "Print JSON: the gateway's answer with at most --limit channels.") var json = false

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit takes 1 or more.") }
        }

        func run() async throws {
            let (answer, channels) = try await all(gateway.client())
            guard !json else {
                let others = answer.members.filter { !["channels", "nextPageToken"].contains($0.name) }
                let text = JSONValue.object([.init("channels", .array(channels))] + others).bytes
                return Terminal.standard.print(String(decoding: text, as: UTF8.self))
            }
            channels.isEmpty ? Terminal.standard.print("No channels.") : Terminal.standard.print(Self.table(channels))
            for line in Self.differences(answer) { Terminal.standard.print(line) }
        }

        /// The first page's answer, which has Apple's list, and the channels of all pages.
        private func all(_ client: GatewayClient) async throws(Failure) -> (first: JSONValue, [JSONValue]) {
            var found: [JSONValue] = []
            var first: JSONValue?
            var token: String?
            repeat {
                var query = home.query + [("pageSize", String(min(1000, limit - found.count)))]
                if let token { query.append(("pageToken", token)) }
                let answer = try await client.project(.GET, "channels", query: query).json()
                first = first ?? answer
                found += answer["channels"]?.elements ?? []
                token = answer["nextPageToken"]?.stringValue
            } while token != nil && found.count < limit
            return (first ?? .object([]), found)
        }

        /// A line for each channel.
        static func table(_ channels: [JSONValue]) -> Table {
            var table = Table(titles: ["CHANNEL", "STATE", "STORAGE", "CREATED", "CHANNEL ID"])
            table.rows = channels.map { channel in
                ["name", "state", "storagePolicy", "createTime", "channelId"].map {
                    channel[$0]?.stringValue ?? "-"
                }
            }
            return table
        }

        /// What Apple's list says beside ours, a line each.
        static func differences(_ answer: JSONValue) -> [String] {
            guard let apple = answer["apple"] else { return [] }
            if let error = apple["error"]?.stringValue { return ["Apple could not be asked: \(Table.safe(error))"] }
            var lines: [String] = []
            let lost = apple["lost"]?.elements.compactMap(\.stringValue) ?? []
            if !lost.isEmpty { lines.append("Lost at Apple: \(Table.safe(lost.joined(separator: ", ")))") }
            let unknown = apple["unknown"]?.elements.compactMap(\.stringValue) ?? []
            let count = apple["unknownCount"]?.integerValue ?? unknown.count
            if count > 0 {
                let more = count > unknown.count ? ", …" : ""
                lines.append(
                    "At Apple without a name here (\(count)): \(Table.safe(unknown.joined(separator: ", ")))\(more)")
            }
            return lines
        }
    }
}
