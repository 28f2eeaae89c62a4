package import PushModel
package import Store

extension SQLStore: WebhookStore {
    /// Adds it in one transaction with its audit entry.
    package func add(
        _ endpoint: WebhookEndpoint, limit: Int, audit: AuditEntry
    ) async throws(StoreError) -> Bool {
        try await write(rows: 3, telling: .webhooks) { db in
            guard try WebhookTable(db: db).add(endpoint, limit: limit) else { return false }
            try AuditLogTable(db: db).add(audit)
            return true
        }
    }

    /// By the unique index of ids.
    package func webhook(_ id: WebhookID, in project: ProjectID) async throws(StoreError) -> WebhookEndpoint? {
        try await read { db in try WebhookTable(db: db).find(id, in: project)?.endpoint }
    }

    /// Reads all at once: there are few.
    package func webhooks(of project: ProjectID?) async throws(StoreError) -> [WebhookEndpoint] {
        try await read { db in try WebhookTable(db: db).list(of: project) }
    }

    /// Changes it in one transaction with its audit entry.
    package func change(
        _ id: WebhookID, in project: ProjectID, _ change: WebhookChange, at time: Timestamp, audit: AuditEntry
    ) async throws(StoreError) -> WebhookEndpoint? {
        try await write(rows: 3, telling: .webhooks) { db in
            let table = WebhookTable(db: db)
            guard let found = try table.find(id, in: project) else { return nil }
            guard change.replay == nil || found.endpoint.position.replay == nil else { return found.endpoint }
            try table.change(found, change, at: time)
            try AuditLogTable(db: db).add(audit)
            return try table.find(id)?.endpoint
        }
    }

    /// Removes it in one transaction with its audit entry; its attempts go with the next housekeeping.
    package func removeWebhook(
        _ id: WebhookID, in project: ProjectID, audit: AuditEntry
    ) async throws(StoreError) -> Bool {
        try await write(rows: 3, telling: .webhooks) { db in
            guard let found = try WebhookTable(db: db).find(id, in: project) else { return false }
            try db.change(WebhookTable.removal, [found.key])
            try AuditLogTable(db: db).add(audit)
            return true
        }
    }

    /// Writes everything of a step in one transaction.
    package func note(_ progress: WebhookProgress, of id: WebhookID, at time: Timestamp) async throws(StoreError) {
        try await write(rows: 2, telling: progress.notice == nil ? [] : .webhooks) { db in
            let table = WebhookTable(db: db)
            guard let found = try table.find(id) else { return }
            try table.note(progress, found, at: time)
        }
    }

    /// Walks the index of an endpoint's attempts back.
    package func webhookAttempts(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookAttempt> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .webhookAttempts).last }
        return try await read { db in
            guard let found = try WebhookTable(db: db).find(id) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            return try WebhookAttemptTable(db: db).attempts(of: found.key, before: before ?? .max, limit: limit)
        }
    }

    /// By the primary key.
    package func deadLetters(
        of id: WebhookID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<WebhookDeadLetter> {
        let after = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .deadLetters).last }
        return try await read { db in
            guard let found = try WebhookTable(db: db).find(id) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            let letters = try WebhookAttemptTable(db: db).letters(
                of: found.key, after: after ?? 0, upTo: .max, limit: limit + 1)
            let page = Array(letters.prefix(limit))
            let next =
                letters.count > limit
                ? page.last.map { PageCursor(.deadLetters, after: $0.event.rawValue).text } : nil
            return ResultPage(elements: page, nextCursor: next)
        }
    }

    /// By the primary key.
    package func deadLetter(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> WebhookDeadLetter? {
        try await read { db in
            guard let found = try WebhookTable(db: db).find(id) else { return nil }
            return try WebhookAttemptTable(db: db).letters(
                of: found.key, after: event.rawValue, upTo: last.rawValue, limit: 1
            ).first
        }
    }

    /// Counts by the primary key.
    package func deadLetterCount(
        of id: WebhookID, after event: EventNumber, upTo last: EventNumber
    ) async throws(StoreError) -> Int {
        try await read { db in
            guard let found = try WebhookTable(db: db).find(id) else { return 0 }
            return Int(
                try db.number(WebhookAttemptTable.letterCount, [found.key, event.rawValue, last.rawValue]) ?? 0)
        }
    }

    /// One row for all of them.
    package func noteProgress(
        of messages: [MessageID], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) {
        guard !messages.isEmpty else { return }
        try await write { db in
            let numbers = try messages.compactMap { id in
                try db.number(MessageTable.openNumber, [id.column, project.rawValue])
            }
            guard !numbers.isEmpty else { return }
            try EventTable(db: db).add(.progress(messages: numbers.sorted()), of: project, at: time)
        }
    }

    /// Walks the index of times, then endpoint by endpoint.
    package func forgetWebhookAttempts(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try WebhookAttemptTable(db: db).forget(before: time, limit: limit) }
    }

    /// Walks the index of times.
    package func forgetDeadLetters(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in
            try db.change(WebhookAttemptTable.forgetLetters, [time.milliseconds, limit])
        }
    }
}
