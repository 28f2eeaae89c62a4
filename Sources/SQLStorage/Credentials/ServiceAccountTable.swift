package import PushModel
package import Store

extension SQLStore: ServiceAccountStore {
    /// Keeps a new account with its first key; `false` when the name is taken. A key id that is taken throws `.failed`.
    package func insert(
        _ account: ServiceAccount, with key: ServiceAccountKey, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            let isNew = try db.change(
                """
                INSERT INTO service_account (email, project, role, created_at, disabled_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (email) DO NOTHING
                """,
                [
                    account.email.rawValue, account.email.project.rawValue, account.role.rawValue,
                    account.createdAt.milliseconds, account.disabledAt?.milliseconds,
                ])
            guard isNew > 0 else { return false }
            try AuditLogTable(db: db).add(
                .accountCreated, account.email, ["role": account.role.rawValue, "key": key.id],
                at: account.createdAt, by: credential)
            return try Self.insert(key, db)
        }
    }

    /// Keeps another key of an account; `false` if there is no such account. An id that is taken throws `.failed`.
    package func insert(_ key: ServiceAccountKey, by credential: CredentialUse) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            guard try Self.insert(key, db) else { return false }
            try AuditLogTable(db: db).add(
                .accountKeyAdded, key.account, ["key": key.id], at: key.createdAt, by: credential)
            return true
        }
    }

    private static func insert(_ key: ServiceAccountKey, _ db: any Database) throws -> Bool {
        try db.change(
            """
            INSERT INTO service_account_key (id, account, public_key, created_at, revoked_at, token_uri)
            SELECT ?, seq, ?, ?, ?, ? FROM service_account WHERE email = ?
            """,
            [
                key.id, key.publicKey, key.createdAt.milliseconds, key.revokedAt?.milliseconds,
                key.tokenURI, key.account.rawValue,
            ]) > 0
    }

    /// A key with its account, in a fresh snapshot, so that what other processes committed is seen.
    package func serviceAccountKey(_ id: String) async throws(StoreError) -> ServiceAccountIdentity? {
        try await lookUp { db in
            try db.row("SELECT \(ServiceAccountIdentity.columns) \(ServiceAccountIdentity.tables) WHERE k.id = ?", [id])
                .map { try ServiceAccountIdentity(row: $0) }
        }
    }

    /// All keys of a project's accounts, or of all accounts: the oldest account first, then the oldest key.
    package func serviceAccountKeys(of project: ProjectID?) async throws(StoreError) -> [ServiceAccountIdentity] {
        try await read { db in
            let all = "SELECT \(ServiceAccountIdentity.columns) \(ServiceAccountIdentity.tables)"
            let order = "ORDER BY a.seq, k.seq"
            let rows =
                if let project {
                    try db.rows("\(all) WHERE a.project = ? \(order)", [project.rawValue])
                } else {
                    try db.rows("\(all) \(order)")
                }
            return try rows.map { try ServiceAccountIdentity(row: $0) }
        }
    }

    /// Revokes a key; a second time changes and notes nothing.
    package func revokeServiceAccountKey(
        _ id: String, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            guard
                let row = try db.row(
                    """
                    SELECT a.email, k.revoked_at FROM service_account_key k
                    CROSS JOIN service_account a ON a.seq = k.account WHERE k.id = ?
                    """, [id])
            else { return false }
            guard (row[1] as Int64?) == nil else { return true }
            try db.change("UPDATE service_account_key SET revoked_at = ? WHERE id = ?", [time.milliseconds, id])
            try AuditLogTable(db: db).add(
                .accountKeyRevoked, try ServiceAccountEmail(stored: row[0]), ["key": id], at: time, by: credential)
            return true
        }
    }

    /// Disables an account; a second time changes and notes nothing.
    package func disable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await setDisabled(account, time, .accountDisabled, at: time, by: credential)
    }

    /// Enables an account again; one that is enabled stays so, and nothing is noted.
    package func enable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await setDisabled(account, nil, .accountEnabled, at: time, by: credential)
    }

    private func setDisabled(
        _ account: ServiceAccountEmail, _ disabledAt: Timestamp?, _ action: AuditAction, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            let row = try db.row("SELECT disabled_at FROM service_account WHERE email = ?", [account.rawValue])
            guard let row else { return false }
            let isDisabled = (row[0] as Int64?) != nil
            guard isDisabled != (disabledAt != nil) else { return true }
            try db.change(
                "UPDATE service_account SET disabled_at = ? WHERE email = ?",
                [disabledAt?.milliseconds, account.rawValue])
            try AuditLogTable(db: db).add(action, account, [:], at: time, by: credential)
            return true
        }
    }

    /// Deletes an account with its keys and access tokens.
    package func delete(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            try db.change(
                """
                DELETE FROM access_token WHERE key IN (SELECT k.seq FROM service_account_key k
                    JOIN service_account a ON a.seq = k.account WHERE a.email = ?)
                """,
                [account.rawValue])
            try db.change(
                "DELETE FROM service_account_key WHERE account = (SELECT seq FROM service_account WHERE email = ?)",
                [account.rawValue])
            guard try db.change("DELETE FROM service_account WHERE email = ?", [account.rawValue]) > 0 else {
                return false
            }
            try AuditLogTable(db: db).add(.accountDeleted, account, [:], at: time, by: credential)
            return true
        }
    }

    /// Keeps an access token; `false` when its key is gone.
    package func insert(_ token: AccessTokenRecord) async throws(StoreError) -> Bool {
        try await write { db in
            try db.change(
                """
                INSERT INTO access_token (digest, key, expires_at)
                SELECT ?, seq, ? FROM service_account_key WHERE id = ?
                """,
                [token.digest, token.expiresAt.milliseconds, token.keyID]) > 0
        }
    }

    /// An access token with whose it is, in a fresh snapshot.
    package func accessToken(
        _ digest: [UInt8]
    ) async throws(StoreError) -> (token: AccessTokenRecord, identity: ServiceAccountIdentity)? {
        try await lookUp { db in
            let row = try db.row(
                """
                SELECT \(ServiceAccountIdentity.columns), t.expires_at \(ServiceAccountIdentity.tables)
                JOIN access_token t ON t.key = k.seq WHERE t.digest = ?
                """,
                [digest])
            return try row.map { row in
                let identity = try ServiceAccountIdentity(row: row)
                let token = AccessTokenRecord(
                    digest: digest, keyID: identity.key.id,
                    expiresAt: Timestamp(milliseconds: row[ServiceAccountIdentity.columnCount]))
                return (token, identity)
            }
        }
    }

    /// Forgets at most `limit` access tokens that ended before `time`.
    package func forgetAccessTokens(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write { db in
            try db.change(
                """
                DELETE FROM access_token WHERE digest IN
                    (SELECT digest FROM access_token WHERE expires_at < ? ORDER BY expires_at LIMIT ?)
                """,
                [time.milliseconds, limit])
        }
    }
}

extension ServiceAccountIdentity {
    fileprivate static let columns = """
        a.email, a.role, a.created_at, a.disabled_at, k.id, k.public_key, k.created_at, k.revoked_at, \
        k.token_uri
        """
    fileprivate static let columnCount = 9
    fileprivate static let tables = "FROM service_account_key k JOIN service_account a ON a.seq = k.account"

    fileprivate init(row: Row) throws {
        let email = try ServiceAccountEmail(stored: row[0])
        self.init(
            account: ServiceAccount(
                email: email, role: try Role(storedCase: row[1]), createdAt: Timestamp(milliseconds: row[2]),
                disabledAt: Timestamp(stored: row[3])),
            key: ServiceAccountKey(
                id: row[4], account: email, publicKey: row[5] as [UInt8],
                createdAt: Timestamp(milliseconds: row[6]), revokedAt: Timestamp(stored: row[7]), tokenURI: row[8]))
    }
}

extension AuditLogTable {
    /// Adds an entry about a service account.
    fileprivate func add(
        _ action: AuditAction, _ account: ServiceAccountEmail, _ details: [String: String], at time: Timestamp,
        by credential: CredentialUse
    ) throws {
        try add(
            AuditEntry(
                time: time, project: account.project, action: action, subject: account.rawValue, details: details,
                credential: credential))
    }
}
