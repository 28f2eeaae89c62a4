import JSON
import ServiceLifecycle
import Simulators

/// Prints each push that arrives at the simulated push service, as a browser would show it.
struct WebPushPrinter: Service {
    let recording: ArrivalLog<RecordedWebPush>

    func run() async throws {
        for await push in recording.arrivals().cancelOnGracefulShutdown() {
            Console.standard.print(Self.text(of: push))
        }
    }

    /// The lines for a push: a frame of the browser's, or why it shows nothing.
    static func text(of push: RecordedWebPush) -> String {
        let name = Table.safe(String(push.subscription.prefix { $0 != "-" }))
        guard push.status == 201, let plaintext = push.plaintext else {
            return "  browser \(name): \(push.status) \(Table.safe(push.problem ?? "nothing in it"))\n"
        }
        var lines: [String] = []
        // What is no JSON is shown as it is.
        let value = try? JSONValue(parsing: plaintext.utf8)
        if let notification = value?["notification"] {
            for member in ["title", "body", "navigate"] {
                if let text = notification[member]?.stringValue { lines.append(Table.safe(text)) }
            }
        }
        if lines.isEmpty { lines = [Table.safe(plaintext)] }
        return (["  browser \(name)"] + lines.map { "  | \($0)" }).joined(separator: "\n") + "\n"
    }
}
