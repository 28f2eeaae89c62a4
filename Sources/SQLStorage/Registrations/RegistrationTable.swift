import PushModel
import Store

/// The registration table within one transaction.
struct RegistrationTable {
    let db: any Database

    static let byIDInAnyProject = """
        SELECT \(Registration.joinedColumns) FROM registration r CROSS JOIN app a ON a.id = r.app
        WHERE r.fid = ? AND r.channel < 4
        """
    /// What stands for a broadcast channel: it is no install, and no other look-up finds it.
    static let ofChannel = """
        SELECT \(Registration.joinedColumns) FROM registration r CROSS JOIN app a ON a.id = r.app
        WHERE r.fid = ? AND r.channel > 3 AND a.project = ?
        """
    static let byID = byIDInAnyProject + " AND a.project = ?"
    /// Whether a project has a registration with a FID, also an ended one.
    static let hasID = """
        SELECT 1 FROM registration r CROSS JOIN app a ON a.id = r.app WHERE r.fid = ?1 AND a.project = ?2
        """
    static func byForeignTokenInAnyProject(_ dialect: Dialect) -> String {
        """
        SELECT \(Registration.joinedColumns) FROM registration r INDEXED BY registration_foreign_token
        CROSS JOIN app a ON a.id = r.app
        WHERE \(dialect.isWholeToken) AND r.token = ?
        """
    }
    static func byForeignToken(_ dialect: Dialect) -> String {
        byForeignTokenInAnyProject(dialect) + " AND a.project = ?"
    }
    static let byAddress = """
        SELECT key FROM registration WHERE app = ? AND address = ? AND ended_at IS NULL
        """

    func find(_ key: RegistrationKey) throws -> Registration? {
        try db.row("SELECT \(Registration.columns) FROM registration r WHERE r.key = ?", [key.rawValue])
            .map { try Registration(row: $0) }
    }

    func find(_ id: RegistrationID, in project: ProjectID) throws -> Registration? {
        try db.row(Self.byID, [id.rawValue, project.rawValue]).map { try Registration(row: $0) }
    }

    /// The registration with this token. It goes by the FID in front of it, which has an index anyway.
    func find(_ token: RegistrationToken, in project: ProjectID) throws -> Registration? {
        let row =
            if let id = token.id {
                try db.row(Self.byID, [id.rawValue, project.rawValue])
            } else {
                try db.row(
                    Self.byForeignToken(db.dialect), [StoredToken.whole(token.rawValue), project.rawValue])
            }
        guard let found = try row.map({ try Registration(row: $0) }), found.token.matches(token) else { return nil }
        return found
    }

    /// The project of the registration with this token. Each project may have the FID in front of it.
    func project(of token: RegistrationToken) throws -> ProjectID? {
        let rows =
            if let id = token.id {
                try db.rows(Self.byIDInAnyProject, [id.rawValue])
            } else {
                try db.rows(
                    Self.byForeignTokenInAnyProject(db.dialect), [StoredToken.whole(token.rawValue)])
            }
        return try rows.lazy.map { try Registration(row: $0) }.first { $0.token.matches(token) }?.project
    }

    /// The active registration that holds an address.
    func active(_ app: Int64, _ address: Address) throws -> RegistrationKey? {
        let statement = try db.statement(Self.byAddress)
        statement.bind(app)
        statement.bind(blob: address.identity)
        return try statement.first { RegistrationKey(rawValue: $0.number(0)) }
    }

    /// Changes an active registration; its address and its user have one owner after each other.
    ///
    /// - Parameters:
    ///   - time: when it was refreshed.
    ///   - auditedAt: when the change is made; `nil`: at `time`.
    /// - Returns: the registration, or the one that took its place.
    func change(
        _ current: Registration, _ change: RegistrationChange, at time: Timestamp, auditedAt: Timestamp? = nil
    ) throws -> Registration {
        let app = try AppTable(db: db).id(current.project, current.appKey)
        let audit = AuditTable(db: db, time: auditedAt ?? time, credential: change.credential)
        var change = change
        var inherited: InheritedState?
        if let address = change.address?.applied(to: current.address), address.identity != current.address.identity {
            if !change.keepsTopics {
                change.owner = change.owner ?? .noUser
                try endSubscriptions(of: current.key, at: auditedAt ?? time)
            }
            let user = change.owner.map(\.user) ?? current.user
            let former = try active(app, address).map(existing)
            // An installation adopts what no installation made, also when it has a registration already.
            if let former, current.isBound, !former.isBound {
                inherited = try InheritedState(of: former, toDeviceOf: change.owner?.user ?? current.user, db: db)
            }
            if let former { try end(former.key, .moved(from: former, at: time), notedAt: auditedAt) }
            try audit.add(
                former == nil ? .deviceTokenChanged : .deviceTokenMoved, app, current.id, user,
                former: former.map { ($0.id, $0.user) })
        }
        if current.quarantine != nil { try audit.addLift(of: current) }
        let changed = try self.changed(current, change, audit, app, at: time)
        guard let inherited else { return changed }
        try inherited.pass(to: changed, at: auditedAt ?? time, db: db)
        return try existing(changed.key)
    }

    /// Changes it when the holder of the new address has ended.
    private func changed(
        _ current: Registration, _ change: RegistrationChange, _ audit: AuditTable, _ app: Int64, at time: Timestamp
    ) throws -> Registration {
        guard let owner = change.owner, owner.user != current.user else {
            return try refresh(current, change, at: time)
        }
        guard let user = current.user else {
            try audit.add(.userAssigned, app, current.id, owner.user, former: nil)
            return try refresh(current, change, at: time)
        }
        try end(current.key, RegistrationEnd(time: time, cause: .replaced), notedAt: audit.time)
        let next = try insert(NewRegistration(current, change, app: app, at: time))
        try db.change(Self.moveInstallation, [next.key.rawValue, current.key.rawValue])
        try audit.add(.userChanged, app, next.id, owner.user, former: (current.id, user))
        return next
    }

    /// What ``NewRegistration/bind(to:_:)`` binds.
    private static let newColumns = """
        fid, token, app, address, channel, address_detail, user, app_version, created_at, refreshed_at, proven_at,
            quarantined_at, quarantine_reason, bound
        """
    static let insertion = """
        INSERT INTO registration (\(newColumns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    /// Of one whose number is known already.
    static let insertionOfNumbered = """
        INSERT INTO registration (key, \(newColumns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// The installation of a registration goes on with the one that took its place.
    static let moveInstallation = "UPDATE installation SET registration = ?1 WHERE registration = ?2"

    func insert(_ new: NewRegistration) throws -> Registration {
        let statement = try db.insertion(Self.insertion, key: "key")
        new.bind(to: statement, db.dialect)
        guard let number = try statement.insert() else { throw StoreError(.failed, "A registration was not inserted.") }
        let key = RegistrationKey(rawValue: number)
        var inserted = InsertedRegistrations(db: db)
        try inserted.add(new, key)
        try inserted.finish()
        return try new.registration(key)
    }

    static let update = """
        UPDATE registration SET address = ?1, channel = ?2, address_detail = ?7,
            app_version = coalesce(?3, app_version), user = coalesce(?6, user),
            refreshed_at = greatest(refreshed_at, ?4),
            proven_at = CASE WHEN address = ?1 AND channel = ?2 THEN proven_at END,
            quarantined_at = NULL, quarantine_reason = NULL
        WHERE key = ?5
        """

    /// Changes the given fields; the time of refresh never goes back. Another address, or the same on another channel,
    /// has yet to be proven. (In an UPDATE the old values stand on the right.) A quarantine is over: the app says that
    /// the address is good.
    private func refresh(_ current: Registration, _ change: RegistrationChange, at time: Timestamp) throws
        -> Registration
    {
        let (bytes, channel, detail) = (change.address?.applied(to: current.address) ?? current.address).columns
        try db.post(
            Self.update,
            [
                bytes, channel, change.appVersion, time.milliseconds, current.key.rawValue,
                change.owner?.user?.rawValue, detail,
            ])
        return try existing(current.key)
    }

    static let project = "SELECT a.project FROM registration r CROSS JOIN app a ON a.id = r.app WHERE r.key = ?"

    /// Ends an active registration and its subscriptions; those of a superseded one are kept aside.
    ///
    /// - Parameter notedAt: when that is done, which is the event's time; `nil`: at the time of the end.
    func end(_ key: RegistrationKey, _ end: RegistrationEnd, notedAt: Timestamp? = nil) throws {
        let isSuperseded = end.cause == .superseded
        let cause = isSuperseded ? RegistrationEnd.Cause.replaced : end.cause
        let ended = try db.change(
            "UPDATE registration SET ended_at = ?, end_cause = ?, superseded = ? WHERE key = ? AND ended_at IS NULL",
            [end.time.milliseconds, cause.rawValue, isSuperseded ? 1 : nil, key.rawValue])
        guard ended > 0 else { return }
        guard let project = try db.row(Self.project, [key.rawValue]) else { throw StoreError.invalid("an app") }
        try EventTable(db: db).add(
            .registrationEnded(key: key.rawValue, EventBody.Cause(end.cause)),
            of: try ProjectID(stored: project[0]), at: notedAt ?? end.time)
        if isSuperseded { try db.post(Self.keepSubscriptions, [key.rawValue]) }
        try endSubscriptions(of: key, at: notedAt ?? end.time)
    }

    /// What nearly every acceptance of a new address is: it names no column that a trigger, a CHECK or an index of others
    /// looks at.
    static let proveFirst = """
        UPDATE registration SET proven_at = ?1
        WHERE key = ?2 AND address = ?3 AND channel = ?4 AND proven_at IS NULL AND quarantined_at IS NULL
        """
    static let prove = """
        UPDATE registration SET proven_at = ?1, channel = ?2, quarantined_at = NULL, quarantine_reason = NULL
        WHERE key = ?3 AND address = ?4 AND channel = ?5
            AND (proven_at IS NULL OR channel <> ?2)
        """
    static let doubt = """
        UPDATE registration SET proven_at = NULL
        WHERE key = ?1 AND address = ?2 AND channel = ?3 AND proven_at = ?4
        """
    static let quarantine = """
        UPDATE registration SET quarantined_at = ?1, quarantine_reason = ?2
        WHERE key = ?3 AND address = ?4 AND channel = ?5 AND refreshed_at = ?6
            AND proven_at IS NULL AND quarantined_at IS NULL AND ended_at IS NULL
        """
    static let quarantined = """
        SELECT key, quarantined_at >= ?3 FROM registration INDEXED BY registration_quarantined
        WHERE app = ?1 AND key > ?2 AND quarantined_at IS NOT NULL AND ended_at IS NULL ORDER BY key LIMIT 2000
        """
    static let lift = "UPDATE registration SET quarantined_at = NULL, quarantine_reason = NULL WHERE key = ?"

    /// Looks at some quarantined registrations of an app and lifts those quarantines that are not older than `time`.
    ///
    /// - Returns: how many, and the last key that was looked at; `nil`: there was none.
    func lift(_ app: Int64, after key: Int64, since time: Timestamp) throws -> (count: Int, last: Int64?) {
        let rows = try db.rows(Self.quarantined, [app, key, time.milliseconds])
        var count = 0
        for row in rows where row[1] { count += try db.change(Self.lift, [row[0] as Int64]) }
        return (count, rows.last?[0])
    }

    // What an answer says counts for the registration as it was sent to: not when it has another address or is on
    // another channel by now.

    /// Marks the address as accepted on `channel`.
    func prove(_ sent: DeliveryRegistration, in channel: Channel, at time: Timestamp) throws {
        let address = sent.address.identity
        if channel == sent.channel {
            let proven = try db.change(
                Self.proveFirst, [time.milliseconds, sent.key.rawValue, address, channel.code])
            if proven > 0 { return }
        }
        try db.post(
            Self.prove, [time.milliseconds, channel.code, sent.key.rawValue, address, sent.channel.code])
    }

    /// Takes the mark of acceptance back that it was sent with.
    func doubt(_ sent: DeliveryRegistration) throws {
        try db.post(
            Self.doubt,
            [
                sent.key.rawValue, sent.address.identity, sent.channel.code,
                sent.provenAt?.milliseconds,
            ])
    }

    /// Quarantines an active registration, unless it was refreshed or proven meanwhile.
    func quarantine(_ sent: DeliveryRegistration, _ quarantine: Quarantine) throws {
        try db.post(
            Self.quarantine,
            [
                quarantine.time.milliseconds, quarantine.reason.rawValue, sent.key.rawValue,
                sent.address.identity, sent.channel.code, sent.refreshedAt.milliseconds,
            ])
    }

    /// Ends a registration whose address was called dead, unless it was refreshed after `deadSince` or has another
    /// address by now: then the answer was about the old one.
    ///
    /// - Returns: whether it ended; the event is the caller's.
    func endUnregistered(_ sent: DeliveryRegistration, deadSince: Timestamp, at time: Timestamp) throws -> Bool {
        let ended = try db.change(
            """
            UPDATE registration SET ended_at = ?, end_cause = 'unregistered'
            WHERE key = ? AND ended_at IS NULL AND refreshed_at <= ? AND address = ?
            """,
            [time.milliseconds, sent.key.rawValue, deadSince.milliseconds, sent.address.identity])
        guard ended > 0 else { return false }
        try endSubscriptions(of: sent.key, at: time)
        return true
    }

    /// Whether a registration is active and has another address than the one that was sent to.
    func hasMoved(_ sent: DeliveryRegistration) throws -> Bool {
        try db.number(
            "SELECT 1 FROM registration WHERE key = ? AND ended_at IS NULL AND address <> ?",
            [sent.key.rawValue, sent.address.identity]) != nil
    }

    private func endSubscriptions(of key: RegistrationKey, at time: Timestamp) throws {
        try TopicDayTable(db: db).leavesAll(key, at: time)
        try db.post("DELETE FROM subscription WHERE registration = ?", [key.rawValue])
    }

    func existing(_ key: RegistrationKey) throws -> Registration {
        guard let registration = try find(key) else { throw StoreError.invalid("a registration") }
        return registration
    }
}

extension RegistrationEnd {
    /// The end of a registration whose address goes to another one: what an installation has, it can take back.
    static func moved(from former: Registration, at time: Timestamp) -> RegistrationEnd {
        RegistrationEnd(time: time, cause: former.isBound ? .superseded : .replaced)
    }
}
