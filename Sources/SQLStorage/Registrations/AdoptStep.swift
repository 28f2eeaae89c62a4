package import PushModel
package import Store

extension SQLStore {
    /// Gives the active registration of this address, or makes one, in one transaction: of two adoptions at the same time
    /// the second finds what the first has made.
    package func adopt(
        _ request: RegistrationRequest, as token: RegistrationToken, at time: Timestamp
    ) async throws(StoreError) -> Registration {
        try await write { db in
            let registrations = RegistrationTable(db: db)
            let app = try AppTable(db: db).id(request.project, request.appKey)
            if let holder = try registrations.active(app, request.address) { return try registrations.existing(holder) }
            let new = try NewRegistration(
                adopting: request, as: token, isFree: registrations.isFree(token, in: request.project), app: app,
                at: time)
            let made = try registrations.insert(new)
            try AuditTable(db: db, time: time, credential: request.credential).addAdoption(of: made)
            return made
        }
    }
}

extension RegistrationTable {
    /// Whether a registration of the project can have this token: nothing has the FID in front of it, or, without one,
    /// the token itself in any project.
    fileprivate func isFree(_ token: RegistrationToken, in project: ProjectID) throws -> Bool {
        guard let id = token.id else { return try self.project(of: token) == nil }
        return try db.number(Self.hasID, [id.rawValue, project.rawValue]) == nil
    }
}
