package import PushModel
package import Store

extension SQLStore: InstallationStore {
    /// Keeps a new installation, with another FID if somebody has the one it chose.
    package func install(_ new: NewInstallation, at time: Timestamp) async throws(StoreError) -> RegistrationID {
        try await write { db in try InstallationTable(db: db).insert(new, at: time) }
    }

    /// The installation with this FID.
    package func installation(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Installation? {
        try await lookUp { db in try InstallationTable(db: db).find(id, in: project)?.installation }
    }

    /// The installation with this auth token, by the token's digest.
    package func installation(
        withToken digest: [UInt8], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Installation? {
        try await lookUp { db in
            try InstallationTable(db: db).find(digest: digest, in: project, at: time)?.installation
        }
    }

    /// Keeps one more auth token, and the newest four.
    package func addToken(
        _ token: InstallationToken, to id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Bool {
        try await write { db in
            let table = InstallationTable(db: db)
            guard let row = try table.find(id, in: project) else { return false }
            try table.add(token, to: row.number, at: time)
            return true
        }
    }

    /// Removes an installation and ends its registration in one transaction.
    package func uninstall(
        _ id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) {
        try await write { db in
            guard let row = try InstallationTable(db: db).find(id, in: project) else { return }
            if let key = row.installation.registration {
                try RegistrationTable(db: db).end(key, RegistrationEnd(time: time, cause: .deleted))
            }
            try db.change("DELETE FROM installation WHERE id = ?", [row.number])
        }
    }

    /// Refreshes, revives or makes the registration of an installation in one transaction.
    package func register(
        _ request: RegistrationRequest, for id: RegistrationID, at time: Timestamp
    ) async throws(StoreError) -> InstallationRegistration {
        try await write { db in
            guard let row = try InstallationTable(db: db).find(id, in: request.project) else { return .unknown }
            return try InstallationRegistrar(db: db, request: request, time: time).register(row)
        }
    }

    /// The registration with this key, also an ended one.
    package func registration(_ key: RegistrationKey) async throws(StoreError) -> Registration? {
        try await lookUp { db in try RegistrationTable(db: db).find(key) }
    }

    /// Forgets expired auth tokens by their index.
    package func forgetInstallationTokens(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in
            try db.change(InstallationTable.forgetTokens, [time.milliseconds, limit])
        }
    }

    /// Forgets unused installations by their index.
    package func forgetInstallations(unusedSince time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(InstallationTable.forget, [time.milliseconds, limit]) }
    }
}
