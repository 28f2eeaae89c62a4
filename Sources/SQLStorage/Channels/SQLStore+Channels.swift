package import PushModel
package import Store

extension SQLStore: ChannelStore {
    /// Notes it in one transaction.
    package func noteChannel(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, at time: Timestamp, limit: Int
    ) async throws(StoreError) -> ChannelIntent {
        try await write { db in try ChannelTable(db: db).note(name, in: home, policy, at: time, limit: limit) }
    }

    /// Writes the id, the registration and the audit entry in one transaction.
    package func completeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> ChannelCompletion {
        try await write(rows: 3) { db in
            let completion = try ChannelTable(db: db).complete(name, in: home, id: id, at: time)
            if case .active = completion, let audit { try AuditLogTable(db: db).add(audit) }
            return completion
        }
    }

    /// Removes the note in one transaction, unless it was completed.
    package func abandonChannel(_ name: ChannelName, in home: ChannelHome) async throws(StoreError) {
        try await write { db in
            let table = ChannelTable(db: db)
            guard let (key, channel) = try table.find(name, in: home), channel.state == .creating else { return }
            try db.change(ChannelTable.removal, [key])
        }
    }

    /// By the unique index of names.
    package func channel(
        _ name: ChannelName, in home: ChannelHome
    ) async throws(StoreError) -> BroadcastChannel? {
        try await lookUp { db in try ChannelTable(db: db).find(name, in: home)?.channel }
    }

    /// By the indexes of FIDs and registrations.
    package func channel(
        of registration: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> BroadcastChannel? {
        try await lookUp { db in
            try db.row(ChannelTable.byRegistration, [registration.rawValue, project.rawValue])
                .map { try BroadcastChannel(row: $0) }
        }
    }

    /// By the unique index of FIDs.
    package func channelRegistration(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Registration? {
        try await lookUp { db in
            try db.row(RegistrationTable.ofChannel, [id.rawValue, project.rawValue]).map { try Registration(row: $0) }
        }
    }

    /// Walks the index of an app's channels.
    package func channels(
        in home: ChannelHome, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<BroadcastChannel> {
        let last = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .channels).last }
        return try await read { db in
            guard limit > 0, let app = try ChannelTable(db: db).app(of: home) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            let rows = try db.rows(ChannelTable.page, [app, home.environment.code, last ?? 0, limit + 1])
            let page = rows.prefix(limit)
            let next = rows.count > limit ? page.last.map { PageCursor(.channels, after: $0[0]).text } : nil
            return ResultPage(elements: try page.map { try BroadcastChannel(row: $0) }, nextCursor: next)
        }
    }

    /// One look at a project's channels.
    package func channelHomes(of project: ProjectID) async throws(StoreError) -> [ChannelHome] {
        try await read { db in
            let rows = try db.rows(ChannelTable.homes, [project.rawValue])
            return try rows.map {
                ChannelHome(
                    project: project, app: try AppID(stored: $0[0]), environment: try PushEnvironment(code: $0[1]))
            }
        }
    }

    /// Counts by an index.
    package func channelCount(in home: ChannelHome) async throws(StoreError) -> Int {
        try await read { db in
            guard let app = try ChannelTable(db: db).app(of: home) else { return 0 }
            return Int(try db.number(ChannelTable.count, [app, home.environment.code]) ?? 0)
        }
    }

    /// Reads an app's active channels once.
    package func compareChannels(
        in home: ChannelHome, with ids: [ChannelID], at time: Timestamp
    ) async throws(StoreError) -> (missing: [BroadcastChannel], active: Int, unknown: [ChannelID]) {
        try await read { db in try ChannelTable(db: db).compare(in: home, with: ids, at: time) }
    }

    /// Ends their registrations in one transaction.
    package func loseChannels(
        _ channels: [BroadcastChannel], at time: Timestamp
    ) async throws(StoreError) -> [ChannelName] {
        try await write(rows: channels.count) { db in try ChannelTable(db: db).lose(channels, at: time) }
    }

    /// Removes it in one transaction with its audit entry.
    package func removeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID?, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> Bool {
        try await write(rows: 3) { db in
            let isRemoved = try ChannelTable(db: db).remove(name, in: home, id: id, at: time)
            if isRemoved, let audit { try AuditLogTable(db: db).add(audit) }
            return isRemoved
        }
    }
}
