package import PushModel
package import Store

extension SQLStore: RegistrationStore {
    /// Refreshes the active registration of this address, or makes one with a random FID and token.
    package func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool) {
        try await write { db in
            let registrations = RegistrationTable(db: db)
            let app = try AppTable(db: db).id(request.project, request.appKey)
            let audit = AuditTable(db: db, time: time, credential: request.credential)
            guard let holder = try registrations.active(app, request.address).map(registrations.existing) else {
                let made = try registrations.insert(NewRegistration(request, app: app, at: time))
                try audit.addUser(of: made, app)
                return (made, true)
            }
            guard request.refreshesBound || !holder.isBound else {
                try registrations.end(holder.key, RegistrationEnd(time: time, cause: .superseded))
                let made = try registrations.insert(NewRegistration(request, app: app, at: time))
                try audit.addUser(of: made, app)
                try audit.add(.deviceTokenMoved, app, made.id, made.user, former: (holder.id, holder.user))
                return (made, true)
            }
            let changed = try registrations.change(holder, RegistrationChange(request), at: time)
            return (changed, changed.key != holder.key)
        }
    }

    /// The registration with this FID, also an ended one.
    package func registration(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Registration? {
        try await lookUp { db in try RegistrationTable(db: db).find(id, in: project) }
    }

    /// The registration with this token, also an ended one.
    package func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration? {
        try await lookUp { db in try RegistrationTable(db: db).find(token, in: project) }
    }

    /// From memory when it was looked up lately.
    package func addressee(
        _ reference: RegistrationReference, in project: ProjectID
    ) async throws(StoreError) -> Registration? {
        if let known = registrations.find(reference, in: project) { return known }
        return try await lookUp { [registrations] db in
            let table = RegistrationTable(db: db)
            let found =
                switch reference {
                case .id(let id): try table.find(id, in: project)
                case .token(let token): try table.find(token, in: project)
                }
            if let found {
                registrations.insert(found, as: reference, number: try RegistrationChanges(db: db).number())
            }
            return found
        }
    }

    /// Changes and refreshes an active registration; another holder of the new address ends as `replaced`.
    package func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration? {
        try await write { db in
            let registrations = RegistrationTable(db: db)
            guard let current = try registrations.find(key), current.isActive else { return nil }
            return try registrations.change(current, change, at: time)
        }
    }

    /// Lifts quarantines in steps of their own, so that other writes come between.
    package func liftQuarantine(
        of app: AppKey, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int {
        guard let app = try await read({ db in try AppTable(db: db).find(project, app) }) else { return 0 }
        var lifted = 0
        var last: Int64 = 0
        while true {
            let after = last
            let step = try await write { db in try RegistrationTable(db: db).lift(app, after: after, since: time) }
            guard let end = step.last else { return lifted }
            lifted += step.count
            last = end
        }
    }

    /// Ends a registration and its subscriptions in one transaction.
    package func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError) {
        try await write { db in try RegistrationTable(db: db).end(key, end) }
    }
}

extension RegistrationChange {
    /// What a request says of a registration that is there.
    init(_ request: RegistrationRequest) {
        // An environment that was only assumed may have been corrected since.
        let assumed = request.isEnvironmentStated ? nil : request.address.deviceToken
        self.init(
            address: assumed.map(AddressChange.deviceToken) ?? .address(request.address),
            appVersion: request.appVersion, owner: request.owner, credential: request.credential)
    }
}
