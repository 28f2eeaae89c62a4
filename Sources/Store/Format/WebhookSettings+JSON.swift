import JSON
import PushModel

extension WebhookSettings {
    /// The text that a store keeps of the settings.
    package var storedText: String {
        let filter: [JSONValue.Member] =
            Self.members(of: filter.apps) + [
                .init("labels", Self.array(filter.labels.map(\.rawValue))),
                .init("topics", Self.array(filter.topics.map(\.rawValue))),
                .init("onlyFailures", .bool(filter.isOnlyFailures)),
                .init("sampling", .number(String(filter.sampling))),
            ]
        let batching: [JSONValue.Member] = [
            .init("maxEvents", .number(String(batching.maxEvents))),
            .init("maxBytes", .number(String(batching.maxBytes))),
            .init("maxDelay", .number(String(batching.maxDelay.wholeMilliseconds))),
        ]
        let members: [JSONValue.Member] = [
            .init("url", .string(url)), .init("description", .string(description)),
            .init("types", Self.array(types.map(\.rawValue))), .init("filter", .object(filter)),
            .init("batching", .object(batching)),
        ]
        return String(decoding: JSONValue.object(members).bytes, as: UTF8.self)
    }

    /// Reads what ``storedText`` wrote. Types that a later version has are left out.
    package init(storedText text: String) throws(StoreError) {
        guard let root = try? JSONValue(parsing: text.utf8), let url = root["url"]?.stringValue,
            let filter = root["filter"], let batching = root["batching"]
        else { throw StoreError.invalid("settings of a webhook") }
        self.init(
            url: url, description: root["description"]?.stringValue ?? "",
            types: Self.texts(root["types"]).compactMap(EventType.init(rawValue:)))
        self.filter.apps = Self.apps(of: filter)
        self.filter.labels = Self.texts(filter["labels"]).compactMap(AnalyticsLabel.init(rawValue:))
        self.filter.topics = Self.texts(filter["topics"]).compactMap(Topic.init(rawValue:))
        self.filter.isOnlyFailures = filter["onlyFailures"] == .bool(true)
        self.filter.sampling = max(1, Self.number(filter["sampling"]) ?? 1)
        self.batching.maxEvents = max(1, Self.number(batching["maxEvents"]) ?? WebhookBatching.mostEvents)
        self.batching.maxBytes = max(1, Self.number(batching["maxBytes"]) ?? WebhookBatching.mostBytes)
        self.batching.maxDelay = .milliseconds(Self.number(batching["maxDelay"]) ?? 1000)
    }

    /// `apps` has each id once and nothing else: a gateway of a version that knows no platforms here drops what is no id, and
    /// a filter without apps lets all of them pass. `appPlatforms` has the apps as they were named, where one has a platform.
    private static func members(of apps: [NamedApp]) -> [JSONValue.Member] {
        var ids: [AppID] = []
        for app in apps where !ids.contains(app.id) { ids.append(app.id) }
        let plain = JSONValue.Member("apps", array(ids.map(\.rawValue)))
        guard apps.contains(where: { $0.platform != nil }) else { return [plain] }
        return [plain, .init("appPlatforms", array(apps.map(\.text)))]
    }

    /// Reads what ``members(of:)`` made, and `platform:id` among `apps`, as it was stored once. An id whose platforms are all of
    /// a later version counts on any.
    private static func apps(of filter: JSONValue) -> [NamedApp] {
        let named = texts(filter["appPlatforms"]).compactMap(NamedApp.init(text:))
        let others = texts(filter["apps"]).compactMap(NamedApp.init(text:))
        return named + others.filter { app in !named.contains { $0.id == app.id } }
    }

    private static func array(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    private static func texts(_ value: JSONValue?) -> [String] {
        guard case .array(let elements)? = value else { return [] }
        return elements.compactMap(\.stringValue)
    }

    private static func number(_ value: JSONValue?) -> Int? {
        guard case .number(let text)? = value else { return nil }
        return Int(text)
    }
}
