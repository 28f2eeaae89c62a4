import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald report`, which is also `herald message report`: what became of messages.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Show what became of a message, or list the recent ones.")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "A message: its id or its whole name. Without one: the recent messages.") var message: String?
    @Option(help: "How many messages to list.") var limit = 20
    @Flag(help: "Repaint until the message is complete.") var watch = false
    @Flag(help: "Print JSON: the gateway's answer, of a list an object a line.") var json = false

    func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit takes 1 to 100000.") }
        guard !watch || message != nil else { throw ValidationError("--watch needs a message.") }
    }

    func run() async throws {
        let client = try gateway.client()
        guard let message else { return try await MessageList(limit: limit).show(of: client, json: json) }
        let id = try MessageCommand.id(message)
        guard watch else { return try MessageReport.show(await client.project(.GET, "messages/\(id)"), json: json) }
        _ = try await MessageReport.follow(id, client, json: json)
    }
}

extension MessageReport {
    /// Prints a report as it came, or its picture.
    static func show(_ answer: GatewayClient.Answer, json: Bool) throws(Failure) {
        guard !json else { return Terminal.standard.print(answer.text) }
        let report = MessageReport(try answer.json())
        Terminal.standard.print(report.lines(width: Terminal.standard.width).joined(separator: "\n"))
    }

    /// Shows a message until nothing of it will change: repaints on a terminal; elsewhere prints a line for each change, so
    /// that a log stays readable.
    ///
    /// - Returns: the last report.
    static func follow(_ id: MessageID, _ client: GatewayClient, json: Bool) async throws -> MessageReport {
        let console = Terminal.standard
        var painted = 0
        var last: MessageReport?
        while true {
            // Before the report is read: what happens after it ends the wait.
            let newest = try await client.project(.GET, "events", query: [("after", "now")]).json()
            let answer = try await client.project(.GET, "messages/\(id)")
            let report = MessageReport(try answer.json())
            if report != last {
                if json {
                    console.print(answer.text)
                } else if console.isTerminal {
                    let lines = report.lines(width: console.width)
                    let up = painted > 0 ? "\u{1b}[\(painted)A\u{1b}[J" : ""
                    console.write(up + lines.map { $0 + "\n" }.joined())
                    painted = lines.count
                } else {
                    console.print(report.summary)
                }
            }
            last = report
            guard !report.isFinal else {
                if !json, !console.isTerminal {
                    console.print(report.lines(width: console.width).joined(separator: "\n"))
                }
                return report
            }
            try await untilEvent(after: newest, client)
        }
    }

    /// Waits until something happened in the project after what was read, and no less than a repaint takes to be seen.
    private static func untilEvent(after newest: JSONValue, _ client: GatewayClient) async throws {
        try await Task.sleep(for: .milliseconds(250))
        let number = newest["lastSequence"]?.integerValue ?? 0
        _ = try await client.project(
            .GET, "events", query: [("after", String(number)), ("wait", "20s"), ("pageSize", "1")])
    }
}
