import PushModel
import Store
import Testing

private let anna = CredentialUse(id: "k9", name: "Anna", role: .admin, address: nil)

extension Scene {
    fileprivate func audit(_ action: AuditAction) -> AuditEntry {
        AuditEntry(
            time: Timestamp(milliseconds: 1000), project: project, action: action, subject: "w", credential: anna)
    }

    fileprivate static let settings = {
        var settings = WebhookSettings(
            url: "https://hooks.example.com/a?b=c", description: "Grüße", types: [.messageFinished, .deliveryRejected])
        settings.filter.apps = [
            NamedApp(AppID(rawValue: "com.example.app")!), NamedApp(AppID(rawValue: "com.example.app")!, on: .android),
        ]
        settings.filter.labels = [AnalyticsLabel(rawValue: "spring")!]
        settings.filter.topics = [Topic(rawValue: "news")!]
        settings.filter.isOnlyFailures = true
        settings.filter.sampling = 7
        settings.batching.maxEvents = 9
        settings.batching.maxBytes = 2048
        settings.batching.maxDelay = .milliseconds(1500)
        return settings
    }()

    fileprivate func makeWebhook(after cursor: Int64 = 0) -> WebhookEndpoint {
        let time = Timestamp(milliseconds: 1000)
        return WebhookEndpoint(
            id: .random(), project: project, settings: Self.settings,
            secrets: [
                WebhookSecret(kind: .symmetric, bytes: Array(1...32), createdAt: time),
                WebhookSecret(
                    kind: .ed25519, bytes: Array(2...33), createdAt: time, expiresAt: Timestamp(milliseconds: 9000)),
            ], position: WebhookPosition(cursor: EventNumber(rawValue: cursor)), createdAt: time, changedAt: time)
    }

    fileprivate func addWebhook(after cursor: Int64 = 0) async throws -> WebhookEndpoint {
        let endpoint = makeWebhook(after: cursor)
        #expect(try await store.add(endpoint, limit: 20, audit: audit(.webhookCreated)))
        return endpoint
    }

    fileprivate func found(_ endpoint: WebhookEndpoint) async throws -> WebhookEndpoint {
        try #require(try await store.webhook(endpoint.id, in: project))
    }

    fileprivate func change(
        _ endpoint: WebhookEndpoint, _ body: (inout WebhookChange) -> Void
    ) async throws -> WebhookEndpoint {
        var change = WebhookChange()
        body(&change)
        return try #require(
            try await store.change(
                endpoint.id, in: project, change, at: Timestamp(milliseconds: 5000), audit: audit(.webhookChanged)))
    }

    fileprivate func note(_ endpoint: WebhookEndpoint, _ body: (inout WebhookProgress) -> Void) async throws {
        var progress = WebhookProgress(revision: endpoint.revision, position: endpoint.position)
        body(&progress)
        try await store.note(progress, of: endpoint.id, at: Timestamp(milliseconds: 6000))
    }

    fileprivate static func attempt(_ number: Int64, at time: Int64 = 2000, failure: String? = nil) -> WebhookAttempt {
        WebhookAttempt(
            delivery: "msg_\(number)", type: "message.finished", first: EventNumber(rawValue: number),
            last: EventNumber(rawValue: number + 2), events: 3, time: Timestamp(milliseconds: time),
            latency: .milliseconds(42), status: failure == nil ? 204 : 500, failure: failure, detail: "d",
            answer: "a")
    }

    fileprivate static func letter(_ event: Int64, at time: Int64 = 2000) -> WebhookDeadLetter {
        WebhookDeadLetter(
            delivery: "msg_\(event)", type: "message.finished", event: EventNumber(rawValue: event),
            time: Timestamp(milliseconds: time), failure: "status", body: [UInt8(clamping: event), 7])
    }

    fileprivate func events(of types: Set<EventType>) async throws -> [Event] {
        try await events(after: .zero, EventFilter(project: project, types: types))
    }
}

extension ConformanceCase {
    static let webhooks: [ConformanceCase] = [
        ConformanceCase("a webhook comes back as it was added, of its project alone, also after a crash") { scene in
            let endpoint = try await scene.addWebhook(after: 3)
            #expect(try await scene.found(endpoint) == endpoint)
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.webhook(endpoint.id, in: other) == nil)
            #expect(try await scene.store.webhooks(of: other).isEmpty)
            try await scene.crash()
            #expect(try await scene.store.webhooks(of: scene.project) == [endpoint])
            #expect(try await scene.store.webhooks(of: nil) == [endpoint])
        },
        ConformanceCase("a project has no more webhooks than its limit, and removing one makes room") { scene in
            let first = try await scene.addWebhook()
            let second = scene.makeWebhook()
            #expect(try await !scene.store.add(second, limit: 1, audit: scene.audit(.webhookCreated)))
            #expect(
                try await scene.store.removeWebhook(first.id, in: scene.project, audit: scene.audit(.webhookDeleted)))
            #expect(
                try await !scene.store.removeWebhook(first.id, in: scene.project, audit: scene.audit(.webhookDeleted)))
            #expect(try await scene.store.add(second, limit: 1, audit: scene.audit(.webhookCreated)))
            #expect(try await scene.store.webhooks(of: scene.project).map(\.id) == [second.id])
        },
        ConformanceCase("a step of the sender is written whole, and the cursor never goes back") { scene in
            let endpoint = try await scene.addWebhook(after: 5)
            try await scene.note(endpoint) { progress in
                progress.position = WebhookPosition(
                    cursor: EventNumber(rawValue: 9), boundary: EventNumber(rawValue: 12), attempts: 3,
                    nextAttemptAt: Timestamp(milliseconds: 8000), failingSince: Timestamp(milliseconds: 7000),
                    warned: 50)
                progress.attempt = Scene.attempt(8, failure: "status")
                progress.deadLetter = Scene.letter(8)
            }
            let found = try await scene.found(endpoint)
            #expect(found.position.cursor.rawValue == 9 && found.position.boundary?.rawValue == 12)
            #expect(found.position.attempts == 3 && found.position.warned == 50)
            #expect(found.position.nextAttemptAt?.milliseconds == 8000)
            #expect(found.position.failingSince?.milliseconds == 7000)
            try await scene.note(found) { $0.position.cursor = EventNumber(rawValue: 2) }
            #expect(try await scene.found(endpoint).position.cursor.rawValue == 9)
            let attempts = try await scene.store.webhookAttempts(of: endpoint.id, after: nil, limit: 10)
            #expect(attempts.elements == [Scene.attempt(8, failure: "status")] && attempts.nextCursor == nil)
            let letters = try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 10)
            #expect(letters.elements == [Scene.letter(8)])
            try await scene.note(found) { $0.revived = EventNumber(rawValue: 8) }
            #expect(try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 10).elements.isEmpty)
        },
        ConformanceCase("what a sender worked out before its owner's change counts for the cursor alone") { scene in
            let endpoint = try await scene.addWebhook()
            let changed = try await scene.change(endpoint) { change in
                change.replay = WebhookReplay(
                    after: EventNumber(rawValue: 1), upTo: EventNumber(rawValue: 4), types: [.messageFinished],
                    isOnlyFailed: false)
            }
            #expect(changed.revision > endpoint.revision)
            try await scene.note(endpoint) { progress in
                progress.position = WebhookPosition(cursor: EventNumber(rawValue: 7), attempts: 5)
                progress.notice = WebhookNotice(endpoint: endpoint.id, percent: 100)
            }
            let found = try await scene.found(endpoint)
            #expect(found.position.cursor.rawValue == 7 && found.position.attempts == 0)
            #expect(found.position.replay == changed.position.replay && found.state == .enabled)
            #expect(try await scene.events(of: [.webhookDisabled]).isEmpty)
        },
        ConformanceCase("of two replays the first counts, until it is through") { scene in
            let endpoint = try await scene.addWebhook()
            let first = WebhookReplay(after: .zero, upTo: EventNumber(rawValue: 4), isOnlyFailed: false)
            let second = WebhookReplay(after: .zero, upTo: EventNumber(rawValue: 9), isOnlyFailed: true)
            let begun = try await scene.change(endpoint) { $0.replay = first }
            let refused = try await scene.change(endpoint) { change in
                change.replay = second
                change.state = .disabled
            }
            #expect(refused == begun && refused.position.replay == first)
            #expect(try await scene.found(endpoint) == begun)
            try await scene.note(begun) { $0.position.replay = nil }
            #expect(try await scene.change(endpoint) { $0.replay = second }.position.replay == second)
            let entries = try await scene.store.auditEntries(AuditFilter(project: scene.project), after: nil, limit: 10)
            #expect(entries.elements.count { $0.action == .webhookChanged } == 2)
        },
        ConformanceCase("a webhook that is given up is disabled with an event, and enabling forgets its failures") {
            scene in
            let endpoint = try await scene.addWebhook()
            try await scene.note(endpoint) { progress in
                progress.position.failingSince = Timestamp(milliseconds: 10)
                progress.position.attempts = 4
                progress.notice = WebhookNotice(endpoint: endpoint.id, percent: 100, isGone: true)
            }
            #expect(try await scene.found(endpoint).state == .autoDisabled)
            let events = try await scene.events(of: [.webhookDisabled, .webhookFailing])
            guard case .webhook(let notice)? = events.first?.kind, events.count == 1 else {
                Issue.record("\(events)")
                return
            }
            #expect(notice == WebhookNotice(endpoint: endpoint.id, percent: 100, isGone: true))
            let enabled = try await scene.change(endpoint) { $0.state = .enabled }
            #expect(enabled.position == endpoint.position && enabled.state == .enabled)
        },
        ConformanceCase("settings, state and secrets change one by one, and each change is another revision") { scene in
            let endpoint = try await scene.addWebhook()
            let moved = try await scene.change(endpoint) { $0.settings?.url = "unused" }
            #expect(moved.settings == endpoint.settings)
            let changed = try await scene.change(endpoint) { change in
                change.settings = WebhookSettings(url: "https://b.example.com/", types: [.linkClicked])
                change.state = .disabled
                change.secrets = [
                    WebhookSecret(kind: .symmetric, bytes: Array(9...40), createdAt: .init(milliseconds: 5))
                ]
            }
            #expect(changed.settings.types == [.linkClicked] && changed.state == .disabled)
            #expect(changed.secrets.map(\.bytes) == [Array(9...40)] && changed.revision > moved.revision)
            #expect(changed.changedAt.milliseconds == 5000 && changed.createdAt == endpoint.createdAt)
            #expect(try await scene.found(endpoint) == changed)
        },
        ConformanceCase("attempts come newest first in pages, and old ones are forgotten") { scene in
            let endpoint = try await scene.addWebhook()
            for number in 1...5 as ClosedRange<Int64> {
                try await scene.note(endpoint) { $0.attempt = Scene.attempt(number, at: number * 1000) }
            }
            let first = try await scene.store.webhookAttempts(of: endpoint.id, after: nil, limit: 2)
            #expect(first.elements.map(\.first.rawValue) == [5, 4])
            let second = try await scene.store.webhookAttempts(of: endpoint.id, after: first.nextCursor, limit: 3)
            #expect(second.elements.map(\.first.rawValue) == [3, 2, 1] && second.nextCursor == nil)
            try await expectStoreError(.badCursor) {
                _ = try await scene.store.webhookAttempts(of: endpoint.id, after: "x", limit: 3)
            }
            #expect(try await scene.store.forgetWebhookAttempts(before: Timestamp(milliseconds: 3000), limit: 10) == 2)
            #expect(
                try await scene.store.webhookAttempts(of: endpoint.id, after: nil, limit: 9).elements.map(
                    \.first.rawValue)
                    == [5, 4, 3])
            _ = try await scene.store.removeWebhook(endpoint.id, in: scene.project, audit: scene.audit(.webhookDeleted))
            #expect(try await scene.store.forgetWebhookAttempts(before: Timestamp(milliseconds: 0), limit: 10) == 3)
        },
        ConformanceCase("dead letters come in the order of their events, and are found and counted by range") { scene in
            let endpoint = try await scene.addWebhook()
            for event in [7, 3, 5] as [Int64] {
                try await scene.note(endpoint) { $0.deadLetter = Scene.letter(event, at: event * 1000) }
            }
            let first = try await scene.store.deadLetters(of: endpoint.id, after: nil, limit: 2)
            #expect(first.elements.map(\.event.rawValue) == [3, 5])
            let rest = try await scene.store.deadLetters(of: endpoint.id, after: first.nextCursor, limit: 2)
            #expect(rest.elements == [Scene.letter(7, at: 7000)] && rest.nextCursor == nil)
            let store = scene.store
            func found(after event: Int64, upTo last: Int64) async throws -> Int64? {
                let (event, last) = (EventNumber(rawValue: event), EventNumber(rawValue: last))
                let letter = try await store.deadLetter(of: endpoint.id, after: event, upTo: last)
                return letter?.event.rawValue
            }
            #expect(try await found(after: 3, upTo: 9) == 5)
            #expect(try await found(after: 5, upTo: 6) == nil)
            #expect(
                try await scene.store.deadLetterCount(
                    of: endpoint.id, after: EventNumber(rawValue: 3), upTo: EventNumber(rawValue: 7)) == 2)
            #expect(try await scene.store.forgetDeadLetters(before: Timestamp(milliseconds: 4000), limit: 9) == 1)
            #expect(try await found(after: 0, upTo: 9) == 5)
        },
        ConformanceCase("a filter of types keeps exactly these, whatever the step that made them") { scene in
            let topic = Scene.topic("news")
            let devices = try await scene.audience(6, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                page.deliveries.enumerated().map { index, delivery in
                    index % 3 == 0 ? delivery.ended(.rejected, reason: "BadDeviceToken") : delivery.ended()
                })
            let time = Timestamp(milliseconds: 4000)
            let kept = try await scene.store.keep(
                [
                    Receipt(message: message.id, kind: .opened, time: time),
                    Receipt(message: message.id, kind: .dismissed, time: time),
                ], of: devices[1].key, in: scene.project, at: time)
            #expect(kept == [true, true])
            let all = try await scene.events(of: Set(EventType.allCases))
            #expect(all.count == 10)
            for type in EventType.allCases {
                let expected = all.filter { $0.type == type }.map(\.number)
                for limit in [1, 3, 100] {
                    let some = try await scene.events(
                        after: .zero, EventFilter(project: scene.project, types: [type]), limit: limit)
                    #expect(some.map(\.number) == expected, "\(type)")
                }
            }
            #expect(all.count { $0.type == .deliveryRejected } == 2 && all.count { $0.type == .deliveryAccepted } == 4)
            guard case .receipt(let receipt)? = all.first(where: { $0.type == .deliveryDismissed })?.kind else {
                Issue.record("no receipt")
                return
            }
            #expect(receipt.registration == devices[1].id && receipt.message == message.id && receipt.topic == topic)
            #expect(receipt.label == AnalyticsLabel(rawValue: "spring") && receipt.app.id == scene.app)
        },
        ConformanceCase("a message is known by its id without its report, in its project alone") { scene in
            let message = try await scene.broadcast(Scene.topic("news"))
            let found = try #require(try await scene.store.summary(of: message.id, in: scene.project))
            #expect(found.id == message.id && found.recipient == .topic(Scene.topic("news")))
            #expect(found.facts.label == AnalyticsLabel(rawValue: "spring"))
            #expect(try await scene.store.summary(of: message.id, in: ProjectID(rawValue: "other")!) == nil)
        },
        ConformanceCase("progress is an event of messages that are under way, and a click one of its project") {
            scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            try await scene.store.noteProgress(
                of: [message.id], in: scene.project, at: Timestamp(milliseconds: 2500))
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.ended() })
            try await scene.store.noteProgress(
                of: [message.id], in: scene.project, at: Timestamp(milliseconds: 3500))
            let progress = try await scene.events(of: [.messageProgress])
            guard case .message(message.id, .progress)? = progress.first?.kind, progress.count == 1 else {
                Issue.record("\(progress)")
                return
            }
            let click = LinkClick(
                id: .random(), project: scene.project, app: AppKey(.apple, scene.app), url: "https://go.example.com/x",
                time: Timestamp(milliseconds: 3600), expiresAt: Timestamp(milliseconds: 99_000), traits: DeviceTraits())
            try await scene.store.add([click])
            try await scene.store.add([click])
            let clicks = try await scene.events(of: [.linkClicked])
            guard case .click(let event)? = clicks.first?.kind, clicks.count == 1 else {
                Issue.record("\(clicks)")
                return
            }
            #expect(event == ClickEvent(app: AppKey(.apple, scene.app)))
        },
    ]
}
