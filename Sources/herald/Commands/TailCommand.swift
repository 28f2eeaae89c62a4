import ArgumentParser
import JSON
import NIOHTTP1
import PushModel
import UnixSignals

/// `herald tail`: what happens, as it happens.
struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Follow what becomes of deliveries, messages and registrations, live.",
        discussion:
            "A line for each event, until Ctrl-C. When the gateway restarts, it goes on after the last one: none is missed "
            + "and none comes twice.")

    @OptionGroup var gateway: GatewayOptions
    @Flag(help: "Only deliveries that were not accepted, dead registrations and routes that are held.") var failures =
        false
    @Option(help: ArgumentHelp("Begin so long ago, as 30s, 15m, 2h or 3d; without it: now.", valueName: "duration"))
    var since: TailStart?
    @Flag(help: "Print an object a line, as the gateway gives them.") var json = false

    func run() async throws {
        let tail = EventTail(
            client: try gateway.client(), onlyFailures: failures,
            since: since.map { Timestamp.systemTime() + (.zero - $0.duration) })
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals { return }
            }
            group.addTask { [json] in
                try await tail.follow { events in
                    guard !json else { return Terminal.standard.print(events) }
                    let lines = events.map { TailLine(event: $0).text }
                    if !lines.isEmpty { Terminal.standard.print(lines.joined(separator: "\n")) }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// How far back a tail begins: `30s`, `15m`, `2h`, `3d`.
struct TailStart: Hashable, ExpressibleByArgument {
    /// How long ago.
    let duration: Duration

    /// Reads a whole number of seconds, minutes, hours or days, up to a year.
    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }), let count = Int64(argument.dropLast()),
            (0...366 * 86_400 / unit).contains(count)
        else { return nil }
        duration = .seconds(count * unit)
    }
}

/// Reads a project's events one after the other, through restarts of the gateway.
struct EventTail: Sendable {
    /// The gateway.
    let client: GatewayClient
    /// Whether only failures are read.
    let onlyFailures: Bool
    /// From when on; `nil`: from now.
    let since: Timestamp?

    /// How long the gateway holds a question that it has no event for.
    private static let wait = "25s"
    /// The rest before a gateway that can't be reached is asked again.
    private static let rest: Duration = .seconds(1)

    /// Hands over events as they come, until the task is cancelled.
    ///
    /// - Throws: the first answer's failure, and a refusal that asking again does not change.
    func follow(_ take: ([JSONValue]) -> Void) async throws {
        var last: Int?
        var isLost = false
        while !Task.isCancelled {
            do {
                let page = try await page(after: last).json()
                if isLost { Terminal.standard.error("herald: the gateway is back") }
                isLost = false
                take(page["events"]?.elements ?? [])
                guard let next = page["lastSequence"]?.integerValue else {
                    throw Failure(.unavailable, "the answer has no lastSequence; is that a Herald gateway?")
                }
                last = next
            } catch let failure as Failure where last != nil && (failure.mayPass || failure.code == .unavailable) {
                if Task.isCancelled { return }
                if !isLost { Terminal.standard.error("\(failure)\nherald: waiting for it") }
                isLost = true
                try await Task.sleep(for: Self.rest)
            }
        }
    }

    private func page(after last: Int?) async throws(Failure) -> GatewayClient.Answer {
        var query = [("pageSize", "1000")]
        if onlyFailures { query.append(("onlyFailures", "true")) }
        switch (last, since) {
        case (let last?, _): query += [("after", String(last)), ("wait", Self.wait)]
        // Without a wait, so that the number where it begins is known at once.
        case (nil, let since?): query.append(("startTime", since.rfc3339))
        case (nil, nil): query.append(("after", "now"))
        }
        return try await client.project(.GET, "events", query: query)
    }
}

/// An event as a line for people.
struct TailLine {
    /// As the gateway gives it.
    let event: JSONValue

    /// Time, what happened, message, app and its platform, registration, reason; what an event does not have is left out.
    var text: String {
        let data = event["data"]
        var words = [
            event["timestamp"]?.stringValue ?? "-",
            (event["type"]?.stringValue ?? "-").padding(to: 21),
        ]
        if let message = data?["message"]?.stringValue {
            words.append(message.split(separator: "/").last.map(String.init) ?? message)
        }
        for name in [
            "app", "platform", "registration", "invitation", "referral", "webhook", "link", "reason", "cause",
            "replacement",
        ] {
            if let text = data?[name]?.stringValue { words.append(text) }
        }
        if let count = data?["count"]?.integerValue { words.append("\(count) deliveries are not kept any more") }
        return words.map { Table.safe($0) }.joined(separator: "  ")
    }
}

extension String {
    /// The text with spaces behind it, up to a length.
    fileprivate func padding(to length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
