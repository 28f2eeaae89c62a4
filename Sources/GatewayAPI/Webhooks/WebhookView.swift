import JSON
import PushModel
import Store
import Webhooks

/// Endpoints of webhooks, their attempts and dead letters as callers see them.
enum WebhookView {
    /// An endpoint.
    ///
    /// - Parameter showsSecrets: whether the secrets themselves are shown: only once, when they are made.
    static func endpoint(_ endpoint: WebhookEndpoint, showsSecrets: Bool = false) -> JSONValue {
        let (settings, position) = (endpoint.settings, endpoint.position)
        var members: [JSONValue.Member] = [
            .init("name", .string(endpoint.name)), .init("url", .string(settings.url)),
            .init("description", .string(settings.description)),
            .init("types", .array(settings.types.map { .string($0.rawValue) })),
            .init("filter", filter(settings.filter)), .init("batching", batching(settings.batching)),
            .init("state", .string(endpoint.state.rawValue)),
            .init("secrets", .array(endpoint.secrets.map { secret($0, shows: showsSecrets) })),
            .init("lastSequence", .integer(position.cursor.rawValue)),
            .init("createTime", .string(endpoint.createdAt.rfc3339)),
            .init("updateTime", .string(endpoint.changedAt.rfc3339)),
        ]
        if let time = position.failingSince { members.append(.init("failingSince", .string(time.rfc3339))) }
        if position.attempts > 0 { members.append(.init("failedAttempts", .integer(position.attempts))) }
        if let time = position.nextAttemptAt { members.append(.init("nextAttemptTime", .string(time.rfc3339))) }
        if let replay = position.replay { members.append(.init("replay", self.replay(replay))) }
        return .object(members)
    }

    /// A secret: its value only when it is made, of a pair of keys always the public one.
    static func secret(_ secret: WebhookSecret, shows: Bool) -> JSONValue {
        var members: [JSONValue.Member] = [.init("kind", .string(secret.kind == .symmetric ? "v1" : "v1a"))]
        if let text = secret.receiverText {
            if secret.kind == .ed25519 {
                members.append(.init("publicKey", .string(text)))
            } else if shows {
                members.append(.init("value", .string(text)))
            }
        }
        members.append(.init("createTime", .string(secret.createdAt.rfc3339)))
        if let time = secret.expiresAt { members.append(.init("expireTime", .string(time.rfc3339))) }
        return .object(members)
    }

    /// A request and what came of it.
    static func attempt(_ attempt: WebhookAttempt) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("webhookId", .string(attempt.delivery)), .init("type", .string(attempt.type)),
            .init("time", .string(attempt.time.rfc3339)), .init("isSuccess", .bool(attempt.failure == nil)),
            .init("latency", .string(durationText(milliseconds: attempt.latency.wholeMilliseconds))),
        ]
        if attempt.last > .zero {
            members += [
                .init("events", .integer(attempt.events)), .init("firstSequence", .integer(attempt.first.rawValue)),
                .init("lastSequence", .integer(attempt.last.rawValue)),
            ]
        }
        if let status = attempt.status { members.append(.init("status", .integer(status))) }
        let texts = [("failure", attempt.failure), ("detail", attempt.detail), ("answer", attempt.answer)]
        members += texts.compactMap { name, text in text.map { .init(name, .string($0)) } }
        return .object(members)
    }

    /// An event that was given up.
    static func deadLetter(_ letter: WebhookDeadLetter) -> JSONValue {
        .object([
            .init("sequence", .integer(letter.event.rawValue)), .init("webhookId", .string(letter.delivery)),
            .init("type", .string(letter.type)), .init("time", .string(letter.time.rfc3339)),
            .init("failure", .string(letter.failure)),
        ])
    }

    private static func filter(_ filter: WebhookFilter) -> JSONValue {
        var members: [JSONValue.Member] = []
        let lists = [
            ("apps", filter.apps.map(\.text)), ("labels", filter.labels.map(\.rawValue)),
            ("topics", filter.topics.map(\.rawValue)),
        ]
        for (name, texts) in lists where !texts.isEmpty {
            members.append(.init(name, .array(texts.map { .string($0) })))
        }
        if filter.isOnlyFailures { members.append(.init("onlyFailures", .bool(true))) }
        if filter.sampling > 1 { members.append(.init("sampling", .integer(filter.sampling))) }
        return .object(members)
    }

    private static func batching(_ batching: WebhookBatching) -> JSONValue {
        .object([
            .init("maxEvents", .integer(batching.maxEvents)), .init("maxBytes", .integer(batching.maxBytes)),
            .init("maxDelay", .string(durationText(milliseconds: batching.maxDelay.wholeMilliseconds))),
        ])
    }

    private static func replay(_ replay: WebhookReplay) -> JSONValue {
        .object([
            .init("nextSequence", .integer(replay.cursor.rawValue + 1)),
            .init("lastSequence", .integer(replay.last.rawValue)), .init("onlyFailed", .bool(replay.isOnlyFailed)),
        ])
    }
}
