import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald status`: how a project's deliveries go now.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show pauses, backlog, the last hour's reasons, connections, store, certificates and credentials.",
        discussion: "Needs a key with the role admin. herald why says why one device got a message or not.")

    @OptionGroup var gateway: GatewayOptions
    @Flag(help: "Print the gateway's answer as JSON.") var json = false

    func run() async throws {
        let answer = try await gateway.client().project(.GET, "status")
        guard !json else { return Terminal.standard.print(answer.text) }
        Terminal.standard.print(Self.lines(try answer.json()).joined(separator: "\n"))
    }

    /// A paragraph for each part, the worst news first.
    static func lines(_ value: JSONValue) -> [String] {
        let parts = [
            store(value["store"]) + disk(value["disk"]), pauses(value), backlog(value), reasons(value),
            upstreams(value), certificates(value), credentials(value),
        ]
        return Array(parts.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private static func store(_ value: JSONValue?) -> [String] {
        let isWritable = value?["writable"] == .bool(true)
        let problems = (value?["problems"]?.elements ?? []).compactMap(\.stringValue).map { "  \(Table.safe($0))" }
        return ["Store: \(isWritable ? "takes writes" : "takes no writes")"] + problems
    }

    private static func disk(_ value: JSONValue?) -> [String] {
        guard let free = value?["freeBytes"]?.integerValue else { return [] }
        let isLow = value?["low"] == .bool(true)
        let days = value?["daysLeft"]?.integerValue.map { ", \($0) days left at today's rate" } ?? ""
        return ["Disk: \(DiskText.size(free)) free\(days)"]
            + (isLow ? ["  new messages are refused until there is more (limits.freeBytes)"] : [])
    }

    private static func pauses(_ value: JSONValue) -> [String] {
        part("Pauses", value["pauses"], ["PART", "WHAT", "REASON", "SINCE", "NEXT PROBE", "UPSTREAM"]) { pause in
            [
                pause.text("part"), pause["topic"]?.stringValue ?? pause.text("app"), pause.text("reason"),
                pause.text("since"), pause.text("nextProbe"), pause.text("upstream"),
            ]
        }
    }

    private static func backlog(_ value: JSONValue) -> [String] {
        part("Backlog", value["backlog"], ["LANE", "APP", "PLATFORM", "WAITING", "IN FLIGHT", "PAUSED"]) { share in
            let app = share["app"]?.stringValue
            let platform = app.map { _ in share.platform }
            return [
                share.text("lane"), app ?? "(broadcasts)", platform ?? "-", share.number("waiting"),
                share.number("inFlight"), share.number("paused"),
            ]
        }
    }

    private static func reasons(_ value: JSONValue) -> [String] {
        part("Reasons of the last hour", value["reasons"], ["OUTCOME", "REASON", "COUNT"]) { reason in
            [reason.text("outcome"), reason.text("reason"), reason.number("count")]
        }
    }

    private static func upstreams(_ value: JSONValue) -> [String] {
        let titles = ["UPSTREAM", "CONNECTIONS", "STREAMS", "QUEUED", "CIRCUIT", "LAST FAILURE"]
        return part("Connections", value["upstreams"], titles) { upstream in
            [
                upstream.text("name"), upstream.number("connections"),
                "\(upstream.number("streamsInUse"))/\(upstream.number("streamLimit"))", upstream.number("queued"),
                upstream.text("circuit"), upstream.text("lastFailure"),
            ]
        }
    }

    private static func certificates(_ value: JSONValue) -> [String] {
        part("Certificates", value["certificates"], ["OF", "VALID UNTIL", "FILE"]) { certificate in
            [certificate.text("subject"), certificate.text("validUntil"), certificate.text("file")]
        }
    }

    /// Nothing of a gateway that does not tell them.
    private static func credentials(_ value: JSONValue) -> [String] {
        guard value["credentials"] != nil else { return [] }
        let platforms = Dictionary(grouping: value["credentials"]?.elements ?? []) { $0.text("app") }
            .mapValues { Set($0.map(\.platform)) }
        // As in filters of webhooks: with its platform in front where an id is of several apps.
        func app(_ credential: JSONValue) -> String {
            let id = credential.text("app")
            return (platforms[id]?.count ?? 0) > 1 ? "\(credential.platform):\(id)" : id
        }
        let titles = ["APP", "KIND", "NAME", "FILE FROM", "VALID UNTIL", "LAST USED", "LAST ERROR", "AT"]
        return part("Credentials", value["credentials"], titles) { credential in
            [
                app(credential), credential.text("kind"), credential.text("name"), credential.text("fileTime"),
                credential.text("validUntil"), credential.text("lastUsed"), credential.text("lastError"),
                credential.text("lastErrorTime"),
            ]
        }
    }

    /// A title with its table, or `none`.
    private static func part(
        _ title: String, _ list: JSONValue?, _ titles: [String], _ row: (JSONValue) -> [String]
    ) -> [String] {
        let elements = list?.elements ?? []
        guard !elements.isEmpty else { return ["\(title): none"] }
        return ["\(title):"] + Table(titles: titles, rows: elements.map(row)).lines.map { "  \($0)" }
    }
}

extension JSONValue {
    /// A member that is a text; `-` where there is none.
    fileprivate func text(_ name: String) -> String { self[name]?.stringValue ?? "-" }

    /// The platform of an app, which the gateway names where it is another one than Apple's.
    fileprivate var platform: String { self["platform"]?.stringValue?.lowercased() ?? Platform.apple.rawValue }

    /// A member that is a number; `-` where there is none.
    fileprivate func number(_ name: String) -> String { self[name]?.integerValue.map(String.init) ?? "-" }
}
