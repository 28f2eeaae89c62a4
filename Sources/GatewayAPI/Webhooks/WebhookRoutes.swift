import Hummingbird
import JSON
import PushModel
import Store
import Webhooks

/// `webhooks`: endpoints that get a project's events. Our own resource.
enum WebhookRoutes {
    static let all: [Route] = [
        .project(.post, "webhooks", .manageWebhooks, create),
        .project(.get, "webhooks", .readWebhooks, list),
        .project(.get, "webhooks/{webhook}", .readWebhooks, get),
        .project(.patch, "webhooks/{webhook}", .manageWebhooks, change),
        .project(.delete, "webhooks/{webhook}", .manageWebhooks, delete),
        .project(.post, "webhooks/{webhook}:test", .manageWebhooks, test),
        .project(.post, "webhooks/{webhook}:rotateSecret", .manageWebhooks, rotate),
        .project(.post, "webhooks/{webhook}:replay", .manageWebhooks, replay),
        .project(.get, "webhooks/{webhook}/attempts", .readWebhooks, attempts),
        .project(.get, "webhooks/{webhook}/deadLetters", .readWebhooks, deadLetters),
        .project(.post, "webhooks/{webhook}/deadLetters:retry", .manageWebhooks, retry),
    ]

    /// Makes an endpoint; its secrets are in this answer and in no other.
    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let controller = try call.webhooks()
        let body = WebhookBody(try await call.json())
        let settings = try await body.settings(controller, in: call.project)
        let secrets = try body.secrets(at: call.now)
        let start = try await body.start(controller.store)
        let endpoint = WebhookEndpoint(
            id: .random(), project: call.project.id, settings: settings, secrets: secrets,
            position: WebhookPosition(cursor: start), createdAt: call.now, changedAt: call.now)
        let hasRoom = try await controller.store.add(
            endpoint, limit: WebhookController.limit, audit: call.webhookAudit(.webhookCreated, endpoint))
        guard hasRoom else {
            var error = FCMError(
                .resourceExhausted,
                "The project has \(WebhookController.limit) webhooks, and may have no more: delete one.")
            error.quotaSubject = "project:\(call.project.id)"
            throw error
        }
        return Response(json: WebhookView.endpoint(endpoint, showsSecrets: true))
    }

    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let endpoints = try await call.webhooks().store.webhooks(of: call.project.id)
        return Response(
            json: .object([
                .init("webhooks", .array(endpoints.map { WebhookView.endpoint($0) })),
                .init("limit", .integer(WebhookController.limit)),
            ]))
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        Response(json: WebhookView.endpoint(try await call.namedWebhook()))
    }

    /// Changes what the body has; of filter and batching the whole.
    @Sendable private static func change(_ call: ProjectCall) async throws -> Response {
        let controller = try call.webhooks()
        let endpoint = try await call.namedWebhook()
        let body = WebhookBody(try await call.json())
        var change = WebhookChange()
        change.settings = try await body.settings(
            controller, in: call.project, over: endpoint.settings)
        change.state = try body.state()
        let changed = try await controller.store.change(
            endpoint.id, in: call.project.id, change, at: call.now,
            audit: call.webhookAudit(.webhookChanged, endpoint))
        guard let changed else { throw FCMError.noWebhook }
        return Response(json: WebhookView.endpoint(changed))
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let isDeleted = try await call.webhooks().store.removeWebhook(
            endpoint.id, in: call.project.id, audit: call.webhookAudit(.webhookDeleted, endpoint))
        guard isDeleted else { throw FCMError.noWebhook }
        return Response(json: .object([]))
    }

    /// Sends a signed `webhook.test` now, whatever the state, and answers with what came of it.
    @Sendable private static func test(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        _ = try await call.json(allowsEmpty: true)
        return Response(json: WebhookView.attempt(try await call.webhooks().test(endpoint)))
    }

    /// Makes new secrets of the kinds that there are; the old ones sign too until the overlap is over.
    @Sendable private static func rotate(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let body = try await call.json(allowsEmpty: true)
        try body.refuseUnknown(except: ["overlap"])
        let overlap = try body.duration("overlap") ?? WebhookSecret.usualOverlap
        guard overlap <= WebhookBody.longestOverlap else {
            throw FCMError.badRequest("overlap", "The overlap is at most 7 days (\"604800s\").")
        }
        let now = call.now
        let former = endpoint.secrets.filter { $0.expiresAt.map { now < $0 } ?? true }
        let kinds: [WebhookSecret.Kind] = [.symmetric, .ed25519].filter { kind in former.contains { $0.kind == kind } }
        var change = WebhookChange()
        // Of those that were replaced before only what still counts, and the newest: the header has an end.
        let kept = former.prefix(WebhookBody.mostSecrets - kinds.count).map { secret in
            var secret = secret
            secret.expiresAt = min(secret.expiresAt ?? now + overlap, now + overlap)
            return secret
        }
        change.secrets = kinds.map { .random($0, at: now) } + (overlap > .zero ? kept : [])
        let changed = try await call.webhooks().store.change(
            endpoint.id, in: call.project.id, change, at: now,
            audit: call.webhookAudit(.webhookSecretRotated, endpoint))
        guard let changed else { throw FCMError.noWebhook }
        return Response(
            json: .object([
                .init("name", .string(changed.name)),
                .init("secrets", .array(changed.secrets.map { WebhookView.secret($0, shows: $0.createdAt == now) })),
            ]))
    }

    /// Sends events once more before the rest; with `dryRun` it only counts them.
    @Sendable private static func replay(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let body = WebhookBody(try await call.json(allowsEmpty: true))
        let controller = try call.webhooks()
        let (replay, isDry) = try await body.replay(of: endpoint, controller.store)
        return try await begin(replay, of: endpoint, isDry: isDry, call)
    }

    /// Sends what stands among the dead letters once more, or one of them.
    @Sendable private static func retry(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let body = try await call.json(allowsEmpty: true)
        try body.refuseUnknown(except: ["sequence"])
        var replay = WebhookReplay(after: .zero, upTo: endpoint.position.cursor, isOnlyFailed: true)
        if let sequence = try body.integer("sequence") {
            replay.cursor = EventNumber(rawValue: Int64(max(sequence, 1)) - 1)
            replay.last = EventNumber(rawValue: Int64(sequence))
        }
        return try await begin(replay, of: endpoint, isDry: false, call)
    }

    private static func begin(
        _ replay: WebhookReplay, of endpoint: WebhookEndpoint, isDry: Bool, _ call: ProjectCall
    ) async throws -> Response {
        let controller = try call.webhooks()
        let count = try await controller.count(replay, of: endpoint)
        // Where the count was not brought to an end there may be some.
        if !isDry, count.events > 0 || !count.isExact {
            var change = WebhookChange()
            change.replay = replay
            let changed = try await controller.store.change(
                endpoint.id, in: call.project.id, change, at: call.now,
                audit: call.webhookAudit(.webhookReplayed, endpoint))
            guard let changed else { throw FCMError.noWebhook }
            guard changed.position.replay == replay else {
                throw FCMError(
                    .failedPrecondition, "A replay to this webhook is under way; wait until it is through.",
                    reason: .replayUnderWay)
            }
        }
        return Response(
            json: .object([
                .init("events", .integer(count.events)), .init("isExact", .bool(count.isExact)),
                .init("dryRun", .bool(isDry)), .init("firstSequence", .integer(replay.cursor.rawValue + 1)),
                .init("lastSequence", .integer(replay.last.rawValue)),
            ]))
    }

    /// The newest first. `deadLetters` beside it has what was given up.
    @Sendable private static func attempts(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let page = try await call.webhooks().store.webhookAttempts(
            of: endpoint.id, after: query["pageToken"], limit: size)
        return page.answer("attempts", WebhookView.attempt)
    }

    @Sendable private static func deadLetters(_ call: ProjectCall) async throws -> Response {
        let endpoint = try await call.namedWebhook()
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let page = try await call.webhooks().store.deadLetters(
            of: endpoint.id, after: query["pageToken"], limit: size)
        return page.answer("deadLetters", WebhookView.deadLetter)
    }
}

extension ResultPage {
    fileprivate func answer(_ name: String, _ view: (Element) -> JSONValue) -> Response {
        var members: [JSONValue.Member] = [.init(name, .array(elements.map(view)))]
        if let nextCursor { members.append(.init("nextPageToken", .string(nextCursor))) }
        return Response(json: .object(members))
    }
}

extension ProjectCall {
    /// What webhooks stand on.
    func webhooks() throws(FCMError) -> WebhookController {
        guard let webhooks = services.webhooks else {
            throw FCMError(.unavailable, "This gateway sends no webhooks.")
        }
        return webhooks
    }

    /// The endpoint that the path names.
    func namedWebhook() async throws -> WebhookEndpoint {
        guard let id = WebhookID(rawValue: try parameter("webhook")),
            let endpoint = try await webhooks().store.webhook(id, in: project.id)
        else { throw FCMError.noWebhook }
        return endpoint
    }

    fileprivate func webhookAudit(_ action: AuditAction, _ endpoint: WebhookEndpoint) -> AuditEntry {
        AuditEntry(
            time: now, project: project.id, action: action, subject: endpoint.id.rawValue, credential: credential)
    }
}

extension FCMError {
    /// No such endpoint.
    static var noWebhook: FCMError { FCMError(.notFound, "The project has no such webhook.") }
}
