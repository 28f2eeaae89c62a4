import PushModel
import Store

/// The registration of an installation, within one transaction.
struct InstallationRegistrar {
    let db: any Database
    let request: RegistrationRequest
    let time: Timestamp

    static let bind = "UPDATE registration SET bound = 1 WHERE key = ? AND bound IS NULL"

    private var registrations: RegistrationTable { RegistrationTable(db: db) }
    private var audit: AuditTable { AuditTable(db: db, time: time, credential: request.credential) }

    func register(_ row: InstallationTable.Found) throws -> InstallationRegistration {
        let app = try AppTable(db: db).id(request.project, request.appKey)
        let made: RegistrationKey
        if let current = try current(row.installation) {
            guard current.appKey == request.appKey else { return .otherApp }
            made = try registrations.change(current, RegistrationChange(request), at: time).key
        } else {
            made = try begin(row.installation, app)
        }
        try db.change(Self.bind, [made.rawValue])
        try db.change("UPDATE installation SET registration = ? WHERE id = ?", [made.rawValue, row.number])
        return .registered(try registrations.existing(made))
    }

    /// The active registration that is the installation's.
    private func current(_ installation: Installation) throws -> Registration? {
        if let linked = try installation.registration.flatMap(registrations.find), linked.isActive { return linked }
        guard let named = try registrations.find(installation.id, in: request.project), named.isActive,
            try isOwn(named)
        else { return nil }
        return named
    }

    /// Whether the registration that carries the installation's FID is its own, and not somebody else's who has the FID
    /// too, from an import: their link or the device tells.
    private func isOwn(_ named: Registration) throws -> Bool {
        let isOnDevice = named.address.identity == request.address.identity
        if named.appKey == request.appKey, isOnDevice { return true }
        return try db.number(InstallationTable.isLinked, [named.key.rawValue, named.id.rawValue]) != nil
    }

    /// Makes the installation's registration, or the one active again that ended. Who held the address ends before.
    private func begin(_ installation: Installation, _ app: Int64) throws -> RegistrationKey {
        guard let former = try registrations.active(app, request.address).map(registrations.existing) else {
            return try make(installation, app, request)
        }
        // The end takes its subscriptions away.
        let inherited = former.isBound ? nil : try InheritedState(of: former, to: request, db: db)
        try registrations.end(former.key, .moved(from: former, at: time))
        let key = try make(installation, app, inherited?.completed(request) ?? request)
        try inherited?.pass(to: registrations.existing(key), at: time, db: db)
        let made = try registrations.existing(key)
        try audit.add(.deviceTokenMoved, app, made.id, made.user, former: (former.id, former.user))
        return key
    }

    private func make(
        _ installation: Installation, _ app: Int64, _ request: RegistrationRequest
    ) throws -> RegistrationKey {
        if let ended = try revivable(installation) {
            try registrations.revive(ended, request, withTopics: isTakenBack(ended), at: time)
            if ended.address.identity != request.address.identity {
                try audit.add(.deviceTokenChanged, app, ended.id, ended.user, former: nil)
            }
            return ended.key
        }
        // Who had the FID last is somebody else.
        let isTaken =
            try db.number(RegistrationTable.hasID, [installation.id.rawValue, request.project.rawValue]) != nil
        let new = try NewRegistration(request, id: isTaken ? nil : installation.id, app: app, at: time)
        let made = try registrations.insert(new)
        try audit.addUser(of: made, app)
        return made.key
    }

    /// The installation's registration that ended and goes on: the one that was superseded, or the one with its FID.
    private func revivable(_ installation: Installation) throws -> Registration? {
        if let linked = try installation.registration.flatMap(registrations.find), isTakenBack(linked) { return linked }
        guard let named = try registrations.find(installation.id, in: request.project), named.appKey == request.appKey,
            named.user == request.owner?.user, !named.isActive, try isOwn(named)
        else { return nil }
        return named
    }

    private func isTakenBack(_ linked: Registration) -> Bool {
        guard let end = linked.end, end.cause == .superseded, linked.appKey == request.appKey else { return false }
        return time - end.time <= RegistrationEnd.supersededLifetime
            && (request.owner == nil || request.owner?.user == linked.user)
    }
}

/// What a registration without an installation, as an import makes it, leaves to that of the installation that has the
/// same address: it is the same device. Not its user: knowing the address proves no user.
struct InheritedState {
    private let former: Registration
    /// None for another user.
    private let subscriptions: [Subscription]

    /// Reads it while the registration is active; `user` is who uses the device from now on, as far as is known.
    init(of former: Registration, toDeviceOf user: UserID?, db: any Database) throws {
        self.former = former
        let isOfAnother = former.user != nil && user != nil && user != former.user
        subscriptions = isOfAnother ? [] : try TopicTable(db: db).subscriptions(of: former.key)
    }

    /// Reads it while the registration is active.
    init(of former: Registration, to request: RegistrationRequest, db: any Database) throws {
        self.former = former
        let isOfAnother = former.user != nil && request.owner != nil && request.owner?.user != former.user
        subscriptions = isOfAnother ? [] : try TopicTable(db: db).subscriptions(of: former.key)
    }

    /// The request with what it does not say.
    func completed(_ request: RegistrationRequest) -> RegistrationRequest {
        var completed = request
        if !request.isEnvironmentStated { completed.address = request.address.on(former.channel) }
        return completed
    }

    /// Gives it to the registration, which may have been taken back with topics of its own.
    func pass(to made: Registration, at time: Timestamp, db: any Database) throws {
        try RegistrationTable(db: db).subscribe(made.key, to: subscriptions, at: time)
        guard made.channel == former.channel, let provenAt = former.provenAt else { return }
        try db.change(RegistrationTable.inheritProof, [provenAt.milliseconds, made.key.rawValue])
    }
}

extension RegistrationTable {
    static let inheritProof = "UPDATE registration SET proven_at = ? WHERE key = ?"
    static let revive = """
        UPDATE registration SET token = ?1, address = ?2, channel = ?3, address_detail = ?7,
            app_version = coalesce(?4, app_version), refreshed_at = greatest(refreshed_at, ?5), proven_at = NULL, quarantined_at = NULL, quarantine_reason = NULL,
            ended_at = NULL, end_cause = NULL, superseded = NULL
        WHERE key = ?6
        """
    static let keepSubscriptions = """
        INSERT INTO superseded_subscription (registration, topic, created_at)
            SELECT registration, topic, created_at FROM subscription INDEXED BY subscription_by_registration
            WHERE registration = ?
        """
    static let keptSubscriptions = """
        SELECT t.name, s.created_at FROM superseded_subscription s CROSS JOIN topic t ON t.id = s.topic
        WHERE s.registration = ?
        """
    static let forgetKeptSubscriptions = "DELETE FROM superseded_subscription WHERE registration = ?"

    /// Makes a registration active again that ended, with a new token: the old one was called unregistered.
    ///
    /// - Parameter withTopics: whether it has those again that were kept when it was superseded.
    func revive(
        _ ended: Registration, _ request: RegistrationRequest, withTopics: Bool, at time: Timestamp
    ) throws {
        let (bytes, channel, detail) = request.address.columns
        try db.change(
            Self.revive,
            [
                StoredToken.random(), bytes, channel, request.appVersion, time.milliseconds,
                ended.key.rawValue, detail,
            ])
        if withTopics {
            let rows = try db.rows(Self.keptSubscriptions, [ended.key.rawValue])
            let kept = try rows.map {
                Subscription(topic: try Topic(stored: $0[0]), createdAt: Timestamp(milliseconds: $0[1]))
            }
            try subscribe(ended.key, to: kept, at: time)
        }
        try db.change(Self.forgetKeptSubscriptions, [ended.key.rawValue])
    }

    /// Gives an active registration subscriptions of before, as far as it has room for them.
    fileprivate func subscribe(
        _ key: RegistrationKey, to subscriptions: [Subscription], at time: Timestamp
    ) throws {
        var batch = SubscriptionBatch(db: db, at: time)
        for subscription in subscriptions {
            _ = try batch.subscribe(key, to: subscription.topic, at: subscription.createdAt)
        }
        try batch.finish()
    }
}
