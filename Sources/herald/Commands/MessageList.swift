import ArgumentParser
import NIOHTTP1
import PushModel

/// The recent messages of a project, as `herald message list` and `herald report` show them.
struct MessageList {
    /// Only those in this state; `nil`: all.
    var state: MessageStateFilter?
    /// The most that are shown.
    var limit: Int

    /// Prints them, the newest first: as a table, or as JSON, an object a line.
    func show(of client: GatewayClient, json: Bool) async throws(Failure) {
        let query = state.map { [("filter", "state=\($0.rawValue.uppercased())")] } ?? []
        let messages = try await client.elements(of: "messages", "messages", query: query, limit: limit)
        guard !json else { return Terminal.standard.print(messages) }
        guard !messages.isEmpty else { return Terminal.standard.print("No messages.") }
        Terminal.standard.print(MessageReport.table(messages.map(MessageReport.init)))
    }
}

/// The states by which messages are listed.
enum MessageStateFilter: String, ExpressibleByArgument, CaseIterable {
    case active, paused, cancelled, complete
}
