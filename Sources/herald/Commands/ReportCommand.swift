import ArgumentParser
import NIOHTTP1
import PushModel

/// `herald report`: what became of messages.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Show what became of a message, or list the recent ones.")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "A message: its id or its whole name. Without one: the recent messages.") var message: String?
    @Option(help: "How many messages to list.") var limit = 20
    @Flag(help: "Repaint until the message is complete.") var watch = false
    @Flag(help: "Print the gateway's answer as JSON.") var json = false

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit takes 1 to 1000.") }
        guard !watch || message != nil else { throw ValidationError("--watch needs a message.") }
    }

    func run() async throws {
        let client = try gateway.client()
        guard let message else { return try await list(client) }
        let id = message.split(separator: "/").last.map(String.init) ?? message
        guard MessageID(rawValue: id) != nil else {
            throw Failure(.usage, "\"\(Table.safe(message))\" is not a message id; herald report lists them")
        }
        try await watch ? follow(id, client) : show(id, client)
    }

    private func list(_ client: GatewayClient) async throws {
        let answer = try await client.project(.GET, "messages", query: [("pageSize", String(limit))])
        guard !json else { return Console.standard.print(answer.text) }
        let reports = try answer.json()["messages"]?.elements.map(MessageReport.init) ?? []
        let lines = MessageReport.table(reports).lines
        Console.standard.print(reports.isEmpty ? "No messages yet." : lines.joined(separator: "\n"))
    }

    private func show(_ id: String, _ client: GatewayClient) async throws {
        let answer = try await client.project(.GET, "messages/\(id)")
        guard !json else { return Console.standard.print(answer.text) }
        let report = MessageReport(try answer.json())
        Console.standard.print(report.lines(width: Console.standard.width).joined(separator: "\n"))
    }

    /// Repaints on a terminal; elsewhere prints a line for each change, so that a log stays readable.
    private func follow(_ id: String, _ client: GatewayClient) async throws {
        let console = Console.standard
        var painted = 0
        var last: MessageReport?
        while true {
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
            if report.isFinal { break }
            try await Task.sleep(for: .milliseconds(500))
        }
        if let last, !json, !console.isTerminal {
            console.print(last.lines(width: console.width).joined(separator: "\n"))
        }
    }
}
