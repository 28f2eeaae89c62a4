import ArgumentParser
import Foundation
import JSON
import NIOHTTP1
import PushModel

/// `herald send`: sends one message.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message to a device, a topic, a condition, a user or a channel.",
        discussion:
            "--message takes a whole FCM v1 message as JSON (a file, or - for standard input), alone or as the request's "
            + "body with what stands beside it (validate_only, target, delivery); the other options build one.")

    @OptionGroup var gateway: GatewayOptions

    @Option(help: "To one device: its registration token.") var token: String?
    @Option(help: "To one device: its FID.") var fid: String?
    @Option(help: "To all subscribers of a topic.") var topic: String?
    @Option(help: "To all for whom a condition holds: \"'a' in topics && !('b' in topics)\".") var condition: String?
    @Option(help: "To all devices of a user.") var user: String?
    @Option(help: "To all that subscribe to a broadcast channel: its name; with --message, a Live Activity update.")
    var channel: String?
    @Option(help: "With --channel: the bundle id, unless the project has one Apple app.") var app: String?
    @Option(help: "With --channel: production or sandbox; the app's own when it is missing.")
    var environment: PushEnvironment?
    @Option(help: "The title.") var title: String?
    @Option(help: "The text.") var body: String?
    @Option(help: "A custom key: name=value; may be repeated.") var data: [String] = []
    @Option(help: "The badge on the app's icon.") var badge: Int?
    @Option(help: "The sound's name, such as default.") var sound: String?
    @Option(help: "apns-priority: 10 at once, 5 with regard to power.") var priority: Int?
    @Option(help: "apns-collapse-id: a newer message replaces the older one.") var collapseID: String?
    @Option(help: "A label for reports.") var label: String?
    @Option(help: "A message as JSON, in a file; - is standard input.") var message: String?
    @Option(help: "At most so many pushes a second.") var rate: Int?
    @Option(help: "Spread the pushes until this time, as 2026-01-31T12:00:00Z.") var finishBy: String?
    @Flag(help: "Let a repeat after a crash stand beside the first push instead of replacing it.")
    var keepRepeats = false
    @Option(help: "An Idempotency-Key: the same again within a day sends nothing twice.") var idempotencyKey: String?
    @Flag(help: "Check the message, say whom it would reach, and send nothing.") var dryRun = false
    @Flag(help: "Wait until the message has ended; fails when the push service refused a single device.") var wait =
        false
    @Flag(help: "Don't ask before a message to more than 1,000 registrations.") var yes = false
    @Flag(help: "Print the gateway's answer as JSON.") var json = false

    func validate() throws {
        let targets = [token, fid, topic, condition, user, channel].compactMap { $0 }.count
        guard targets == 1 || (targets == 0 && message != nil) else {
            throw ValidationError("Give exactly one of --token, --fid, --topic, --condition, --user and --channel.")
        }
        guard channel != nil || (app == nil && environment == nil) else {
            throw ValidationError("--app and --environment belong to --channel.")
        }
        guard rate == nil || finishBy == nil else {
            throw ValidationError("Give --rate or --finish-by, not both.")
        }
        for entry in data where !entry.dropFirst().contains("=") {
            throw ValidationError("--data takes name=value, not \"\(entry)\".")
        }
        if message != nil {
            let isBuilt = title != nil || body != nil || badge != nil || sound != nil || label != nil || !data.isEmpty
            guard !isBuilt, priority == nil, collapseID == nil else {
                throw ValidationError(
                    "--message is the whole message; only a target and how it is delivered go with it.")
            }
        }
    }

    func run() async throws {
        let client = try gateway.client()
        // Once: standard input can't be read again.
        let request = try request()
        let isOnlyChecked = request["validate_only"] == .bool(true) || request["validateOnly"] == .bool(true)
        if !isOnlyChecked { try await confirm(request, client) }
        var headers = idempotencyKey.map { [("idempotency-key", $0)] } ?? []
        if wait { headers.append(("prefer", "wait=\(Self.waitSeconds)")) }
        let answer = try await client.project(.POST, "messages:send", body: request, headers: headers)
        let value = try answer.json()
        if json {
            Terminal.standard.print(answer.text)
        } else {
            Terminal.standard.print(isOnlyChecked ? Self.preflight(value) : value["name"]?.stringValue ?? "")
            for warning in Self.warnings(value) { Terminal.standard.error(warning) }
        }
        if wait, !isOnlyChecked { try await untilEnded(value, client) }
    }

    /// How long the gateway is asked to wait for the outcome of a single push: the longest it does.
    private static let waitSeconds = 30

    /// Follows a message to its end.
    ///
    /// - Throws: a failure when a single delivery ended without being accepted.
    private func untilEnded(_ sent: JSONValue, _ client: GatewayClient) async throws {
        if let outcome = sent["outcome"]?.stringValue, outcome != "IN_FLIGHT" {
            let reason = sent["reason"]?.stringValue.map { ": \(Table.safe($0))" } ?? ""
            guard outcome == "ACCEPTED" else { throw Failure(.refused, "the message ended as \(outcome)\(reason)") }
            if !json { Terminal.standard.print("ACCEPTED") }
            return
        }
        let report = try await MessageReport.follow(
            try MessageCommand.id(sent["name"]?.stringValue ?? ""), client, json: json)
        guard token != nil || fid != nil || channel != nil, let accepted = report.counts.first, accepted.value == 0
        else { return }
        throw Failure(.refused, "the message was not accepted by the push service")
    }

    /// The most recipients that are not asked about.
    static let unconfirmedLimit = 1000

    /// Asks a person before a message goes to many.
    private func confirm(_ request: JSONValue, _ client: GatewayClient) async throws {
        guard !yes, !(token != nil || fid != nil || channel != nil), Terminal.standard.isInteractive else { return }
        let check = JSONValue.object(Self.onlyChecked(request.members))
        let preflight = try await client.project(.POST, "messages:send", body: check).json()
        try Self.confirm(audience: preflight["audience"]?.integerValue ?? 0) { question in
            Terminal.standard.ask(question)
        }
    }

    /// Goes on when `audience` is small or the answer is yes.
    static func confirm(audience: Int, ask: (String) -> String?) throws(Failure) {
        guard audience > unconfirmedLimit else { return }
        let answer = ask("Send to \(audience) registrations? [y/N] ")?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else {
            throw Failure(.refused, "nothing was sent; --yes sends without asking")
        }
    }

    /// The whole request: that of the file, with what the options say in place of what it says.
    func request() throws(Failure) -> JSONValue {
        var request: [JSONValue.Member] = []
        if let message { request = try Self.read(message) }
        if !request.contains(where: { $0.name == "message" }) { request = [.init("message", .object(request))] }
        if !target.isEmpty || beside != nil { request.removeAll { $0.name == "target" } }
        for place in request.indices where request[place].name == "message" {
            request[place] = .init("message", message == nil ? built : addressed(request[place].value))
        }
        if let beside { request.append(.init("target", beside)) }
        if let delivery {
            let others = request.last { $0.name == "delivery" }?.value.members.filter(isKept) ?? []
            request.removeAll { $0.name == "delivery" }
            request.append(.init("delivery", .object(others + delivery.members)))
        }
        return .object(dryRun ? Self.onlyChecked(request) : request)
    }

    /// The request with `validate_only`.
    private static func onlyChecked(_ request: [JSONValue.Member]) -> [JSONValue.Member] {
        request.filter { !["validate_only", "validateOnly"].contains($0.name) }
            + [.init("validate_only", .bool(true))]
    }

    /// Whether no option stands in place of a member of the file's `delivery`.
    private func isKept(_ member: JSONValue.Member) -> Bool {
        switch member.name {
        case "rate", "finishBy", "finish_by": rate == nil && finishBy == nil
        case "collapseRepeats", "collapse_repeats": !keepRepeats
        default: true
        }
    }

    private var delivery: JSONValue? {
        Self.object([
            ("rate", rate.map { .number(String($0)) }), ("finishBy", finishBy.map(JSONValue.string)),
            ("collapseRepeats", keepRepeats ? .bool(false) : nil),
        ])
    }

    /// What a preflight says, for people.
    static func preflight(_ value: JSONValue) -> String {
        var lines = ["The message is valid."]
        if let audience = value["audience"]?.integerValue { lines.append("Audience   \(audience)") }
        for size in value["payloadBytes"]?.members ?? [] {
            lines.append("Payload    \(size.value.integerValue ?? 0) bytes for \(Table.safe(size.name))")
        }
        if let duration = value["expectedDuration"]?.stringValue { lines.append("Duration   \(Table.safe(duration))") }
        for refusal in value["refusals"]?.elements ?? [] {
            lines.append("Refused    \(Table.safe(refusal["message"]?.stringValue ?? ""))")
        }
        return lines.joined(separator: "\n")
    }

    /// What the gateway warns of, a line each.
    static func warnings(_ value: JSONValue) -> [String] {
        (value["warnings"]?.elements ?? []).map { warning in
            let parts = [warning["field"]?.stringValue, warning["description"]?.stringValue].compactMap(\.self)
            return "warning: \(Table.safe(parts.joined(separator: ": ")))"
        }
    }

    /// The message that the options make.
    private var built: JSONValue {
        var members = target
        let notification = Self.object([("title", title.map(JSONValue.string)), ("body", body.map(JSONValue.string))])
        if let notification { members.append(.init("notification", notification)) }
        if !data.isEmpty { members.append(.init("data", .object(data.map(Self.entry)))) }
        if let apns = apns { members.append(.init("apns", apns)) }
        if let label {
            members.append(.init("fcm_options", .object([.init("analytics_label", .string(label))])))
        }
        return .object(members)
    }

    /// The file's message, to whom the options say.
    private func addressed(_ message: JSONValue) -> JSONValue {
        guard !target.isEmpty || beside != nil, case .object(let members) = message else { return message }
        return .object(target + members.filter { !["token", "fid", "topic", "condition"].contains($0.name) })
    }

    /// The target that stands beside the message.
    private var beside: JSONValue? {
        if let user { return .object([.init("user", .string(user))]) }
        return Self.object([
            ("channel", channel.map(JSONValue.string)), ("app", app.map(JSONValue.string)),
            ("environment", environment.map { .string($0.rawValue) }),
        ])
    }

    private var target: [JSONValue.Member] {
        [("token", token), ("fid", fid), ("topic", topic), ("condition", condition)].compactMap { name, value in
            value.map { .init(name, .string($0)) }
        }
    }

    private var apns: JSONValue? {
        let headers = Self.object([
            ("apns-priority", priority.map { .string(String($0)) }),
            ("apns-collapse-id", collapseID.map(JSONValue.string)),
        ])
        let aps = Self.object([
            ("badge", badge.map { .number(String($0)) }), ("sound", sound.map(JSONValue.string)),
        ])
        return Self.object([("headers", headers), ("payload", aps.map { .object([.init("aps", $0)]) })])
    }

    /// An object of the members that have a value; `nil` when none has.
    private static func object(_ members: [(String, JSONValue?)]) -> JSONValue? {
        let present = members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } }
        return present.isEmpty ? nil : .object(present)
    }

    private static func entry(_ text: String) -> JSONValue.Member {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return .init(String(parts[0]), .string(parts.count > 1 ? String(parts[1]) : ""))
    }

    /// The members of the object in a file.
    private static func read(_ path: String) throws(Failure) -> [JSONValue.Member] {
        let bytes: Data
        do {
            bytes =
                try path == "-"
                ? FileHandle.standardInput.readToEnd() ?? Data() : Data(contentsOf: URL(filePath: path))
        } catch {
            throw Failure(.inputOutput, "\(path): can't be read: \(error.localizedDescription)")
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(bytes))
        } catch {
            throw Failure(.usage, "\(path): not JSON at byte \(error.offset): \(error.message)")
        }
        guard case .object(let members) = value else {
            throw Failure(.usage, "\(path): not a JSON object: write {\"message\": {…}}, or the message alone")
        }
        return members
    }
}
