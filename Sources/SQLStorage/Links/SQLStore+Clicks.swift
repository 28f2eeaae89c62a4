package import PushModel
package import Store

extension SQLStore: ClickStore {
    /// The key that was made with the store.
    package func digestKey() async throws(StoreError) -> [UInt8] {
        try await lookUp { db in try ClickTable(db: db).digestKey() }
    }

    /// Keeps clicks in one transaction, with the referrals that those on invitations begin.
    package func add(_ clicks: [LinkClick]) async throws(StoreError) {
        guard !clicks.isEmpty else { return }
        try await write(rows: clicks.count) { db in
            var new: [LinkClick] = []
            for click in clicks {
                if try ClickTable(db: db).insert(click) { new.append(click) }
                try ReferralTable(db: db).clicked(click)
            }
            if !new.isEmpty { try ClickTable(db: db).note(new) }
        }
    }

    /// By the primary key.
    package func click(_ id: ClickID, at time: Timestamp) async throws(StoreError) -> LinkClick? {
        try await lookUp { db in try ClickTable(db: db).find(id, at: time) }
    }

    /// By the index of those that are not used up.
    package func openClicks(
        since time: Timestamp, after last: LinkClick?, limit: Int
    ) async throws(StoreError) -> [LinkClick] {
        try await read { db in try ClickTable(db: db).open(since: time, after: last, limit: limit) }
    }

    /// Uses up the click, notes the install and takes the referral on, in one transaction.
    package func attribute(_ attribution: NewAttribution) async throws(StoreError) -> AttributionResult {
        try await write { db in
            if let refusal = try ClickTable(db: db).use(attribution) { return refusal }
            return .attributed(try ReferralTable(db: db).opened(attribution))
        }
    }

    /// Forgets clicks by the index of their ends.
    package func forgetClicks(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(ClickTable.forget, [time.milliseconds, limit]) }
    }

    /// Forgets installs by the index of their times.
    package func forgetAttributedInstalls(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(ClickTable.forgetInstalls, [time.milliseconds, limit]) }
    }
}
