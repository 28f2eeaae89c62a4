import FCMWire
import JSON
import PushModel
import Store
import Webhooks

/// What a request says of an endpoint.
struct WebhookBody {
    /// The longest time that old and new secrets sign together.
    static let longestOverlap: Duration = .seconds(7 * 86_400)
    /// The most secrets that sign at a time.
    static let mostSecrets = 6
    /// The most entries of a list of a filter.
    private static let mostEntries = 100

    private let body: ObjectReader

    init(_ body: ObjectReader) {
        self.body = body
    }

    /// The settings of a new endpoint, or those of one with what the request changes.
    func settings(
        _ controller: WebhookController, in project: Project, over former: WebhookSettings? = nil
    ) async throws(FCMError) -> WebhookSettings {
        let names = ["url", "description", "types", "filter", "batching"]
        try body.refuseUnknown(except: names + (former == nil ? ["start_from", "asymmetric", "secret"] : ["state"]))
        var settings = former ?? WebhookSettings(url: "", types: [])
        if let url = try body.string("url") {
            do throws(WebhookURLProblem) {
                try await controller.check(url, for: project.id)
            } catch {
                var refused = FCMError.badRequest("url", error.message, reason: .urlNotAllowed)
                refused.metadata = ["rule": error.rule.rawValue]
                throw refused
            }
            settings.url = url
        }
        guard !settings.url.isEmpty else { throw .badRequest("url", "The url is missing: where events go to.") }
        if let description = try body.string("description") { settings.description = try Self.checked(description) }
        if let types = try types(body) { settings.types = types }
        guard !settings.types.isEmpty else {
            throw .badRequest(
                "types", "The types are missing: which events the webhook gets, such as message.finished.")
        }
        if let filter = try body.object("filter", type: "WebhookFilter") {
            settings.filter = try Self.filter(filter, in: project)
        }
        if let batching = try body.object("batching", type: "WebhookBatching") {
            settings.batching = try Self.batching(batching)
        }
        return settings
    }

    /// The state that is asked for; only an owner's.
    func state() throws(FCMError) -> WebhookState? {
        guard let text = try body.string("state") else { return nil }
        guard let state = WebhookState(rawValue: text), state != .autoDisabled else {
            throw .badRequest("state", "The state may be set to ENABLED or DISABLED, not '\(text.excerpt)'.")
        }
        return state
    }

    /// The secrets of a new endpoint: one of its own or one that the receiver has already, and with `asymmetric` a pair of
    /// keys.
    func secrets(at time: Timestamp) throws(FCMError) -> [WebhookSecret] {
        var secrets = [WebhookSecret.random(.symmetric, at: time)]
        if let text = try body.string("secret") {
            guard let secret = WebhookSecret(text: text, at: time) else {
                throw .badRequest("secret", "The secret is not whsec_ with 24 to 64 bytes in base64.")
            }
            secrets = [secret]
        }
        if try body.bool("asymmetric") == true { secrets.append(.random(.ed25519, at: time)) }
        return secrets
    }

    /// Where a new endpoint begins: `now`, `beginning`, or a time.
    func start(_ store: any EventStore) async throws -> EventNumber {
        let text = try body.string("start_from") ?? "now"
        let page = try await store.events(after: .zero, EventFilter(), limit: 0)
        switch text {
        case "now": return page.newest
        case "beginning": return page.forgotten
        default:
            guard let time = Timestamp(rfc3339: text) else {
                throw FCMError.badRequest(
                    "startFrom", "startFrom is now, beginning or an RFC 3339 time, not '\(text.excerpt)'.")
            }
            return try await store.lastEvent(before: time)
        }
    }

    /// The events that are to be sent once more: from one number or time to another, at most what was sent.
    func replay(
        of endpoint: WebhookEndpoint, _ store: any EventStore
    ) async throws -> (replay: WebhookReplay, isDry: Bool) {
        try body.refuseUnknown(except: ["from", "to", "only_failed", "types", "dry_run"])
        let page = try await store.events(after: .zero, EventFilter(), limit: 0)
        let isOnlyFailed = try body.bool("only_failed") ?? false
        let cursor = endpoint.position.cursor
        var first = try await before("from", store) ?? .zero
        if !isOnlyFailed { first = max(first, page.forgotten) }
        let last = min(try await upTo("to", store) ?? cursor, cursor)
        guard first <= last else {
            throw FCMError.badRequest("from", "There is nothing between from and to that was sent before.")
        }
        let types = try types(body) ?? []
        for type in types where !endpoint.settings.types.contains(type) {
            throw FCMError.badRequest("types", "The webhook does not get \(type.rawValue).")
        }
        let replay = WebhookReplay(after: first, upTo: last, types: types, isOnlyFailed: isOnlyFailed)
        return (replay, try body.bool("dry_run") ?? false)
    }

    private func before(_ name: String, _ store: any EventStore) async throws -> EventNumber? {
        guard let text = try body.lenientString(name) else { return nil }
        if let number = Int64(text), number > 0 { return EventNumber(rawValue: number - 1) }
        return try await store.lastEvent(before: try time(text, name))
    }

    private func upTo(_ name: String, _ store: any EventStore) async throws -> EventNumber? {
        guard let text = try body.lenientString(name) else { return nil }
        if let number = Int64(text), number > 0 { return EventNumber(rawValue: number) }
        return try await store.lastEvent(before: try time(text, name))
    }

    private func time(_ text: String, _ name: String) throws(FCMError) -> Timestamp {
        guard let time = Timestamp(rfc3339: text) else {
            throw .badRequest(name, "\(name) is the sequence of an event or an RFC 3339 time, not '\(text.excerpt)'.")
        }
        return time
    }

    private func types(_ body: ObjectReader) throws(FCMError) -> [EventType]? {
        guard let texts = try body.strings("types") else { return nil }
        var types: [EventType] = []
        for (index, text) in texts.enumerated() {
            guard let type = EventType(rawValue: text) else {
                let hint = Spelling.closest(to: text, among: EventView.types).map { " Did you mean \($0)?" } ?? ""
                throw .badRequest("types[\(index)]", "There is no type of events '\(text.excerpt)'.\(hint)")
            }
            if !types.contains(type) { types.append(type) }
        }
        return types
    }

    private static func checked(_ description: String) throws(FCMError) -> String {
        guard description.utf8.count <= WebhookController.longestDescription else {
            throw .badRequest(
                "description", "The description has at most \(WebhookController.longestDescription) bytes.")
        }
        return description
    }

    private static func filter(_ body: ObjectReader, in project: Project) throws(FCMError) -> WebhookFilter {
        try body.refuseUnknown(except: ["apps", "labels", "topics", "only_failures", "sampling"])
        var filter = WebhookFilter()
        filter.apps = try apps(body, in: project)
        filter.labels = try list("labels", body)
        filter.topics = try list("topics", body)
        filter.isOnlyFailures = try body.bool("only_failures") ?? false
        filter.sampling = try number("sampling", body, in: 1...1_000_000) ?? 1
        return filter
    }

    private static func batching(_ body: ObjectReader) throws(FCMError) -> WebhookBatching {
        try body.refuseUnknown(except: ["max_events", "max_bytes", "max_delay"])
        var batching = WebhookBatching()
        if let count = try number("max_events", body, in: 1...WebhookBatching.mostEvents) { batching.maxEvents = count }
        if let bytes = try number("max_bytes", body, in: 1024...WebhookBatching.mostBytes) { batching.maxBytes = bytes }
        if let delay = try body.duration("max_delay") {
            guard (Duration.zero ... .seconds(60)).contains(delay) else {
                throw .badRequest("batching.maxDelay", "batching.maxDelay is at most \"60s\".")
            }
            batching.maxDelay = delay
        }
        return batching
    }

    /// The apps that are named, each one app alone: an id that the project has on several platforms is named with the
    /// platform.
    private static func apps(_ body: ObjectReader, in project: Project) throws(FCMError) -> [NamedApp] {
        let named = try list("apps", body, NamedApp.init(text:))
        for (index, app) in named.enumerated() where app.platform == nil {
            let apps = project.apps(app.id).map(\.key)
            guard apps.count > 1 else { continue }
            let names = apps.map { $0.name(among: apps) }.joined(separator: " or ")
            throw .badRequest(
                "filter.apps[\(index)]", "The project has \(app.id) on several platforms: say \(names).")
        }
        return named
    }

    private static func list<Value: TextIdentifier>(
        _ name: String, _ body: ObjectReader
    ) throws(FCMError) -> [Value] {
        try list(name, body, Value.init(rawValue:))
    }

    private static func list<Value>(
        _ name: String, _ body: ObjectReader, _ read: (String) -> Value?
    ) throws(FCMError) -> [Value] {
        let texts = try body.strings(name) ?? []
        guard texts.count <= mostEntries else {
            throw .badRequest("filter.\(name)", "filter.\(name) has at most \(mostEntries) entries.")
        }
        var values: [Value] = []
        for (index, text) in texts.enumerated() {
            guard let value = read(text) else {
                throw .badRequest("filter.\(name)[\(index)]", "'\(text.excerpt)' can't be one of filter.\(name).")
            }
            values.append(value)
        }
        return values
    }

    private static func number(
        _ name: String, _ body: ObjectReader, in range: ClosedRange<Int>
    ) throws(FCMError) -> Int? {
        guard let number = try body.integer(name) else { return nil }
        guard range.contains(number) else {
            let path = body.fullPath(ObjectReader.camelCase(name))
            throw .badRequest(path, "\(path) is \(range.lowerBound) to \(range.upperBound), not \(number).")
        }
        return number
    }
}
