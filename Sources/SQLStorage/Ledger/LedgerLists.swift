package import PushModel
package import Store

extension SQLStore: LedgerStore {
    /// One message's report, read in one snapshot.
    package func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport? {
        try await read { db in
            try MessageTable(db: db).find(id, in: project).map { try ReportReader(db: db).report($0) }
        }
    }

    /// By the index of ids.
    package func summary(of id: MessageID, in project: ProjectID) async throws(StoreError) -> MessageSummary? {
        try await read { db in try MessageTable(db: db).find(id, in: project)?.summary }
    }

    /// Reports in the order of accept, the newest first.
    package func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .messages).last }
        return try await read { db in
            let reader = ReportReader(db: db)
            let rows = try db.rows(
                state.map(ReportReader.newest) ?? ReportReader.newest, [project.rawValue, before ?? .max, limit + 1])
            let messages = try rows.prefix(limit).map { try MessageRow(row: $0) }
            let next = rows.count > limit ? messages.last.map { PageCursor(.messages, after: $0.seq).text } : nil
            return ResultPage(elements: try messages.map(reader.report), nextCursor: next)
        }
    }

    /// Ended deliveries in the order of recording, then those that wait for an attempt.
    package func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord> {
        let start = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .endedDeliveries, .waitingDeliveries, .claimedDeliveries)
        }
        return try await read { db in
            guard let message = try MessageTable(db: db).find(id, in: project) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            return try DeliveryReader(db: db, message: message, outcome: outcome).page(after: start, limit: limit)
        }
    }

    /// Looks through the project's blocks from the newest back, a bounded number in one call.
    package func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        let place = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .registrationDeliveries)
        }
        return try await read { db in
            let key = try db.number(
                RegistrationDeliveryReader.key, [registration.rawValue, project.rawValue])
            guard let key else { return ResultPage(elements: [], nextCursor: nil) }
            return try RegistrationDeliveryReader(db: db, project: project, key: key)
                .page(after: place, limit: limit)
        }
    }
}
