package import PushModel
package import Store

extension SQLStore: OperatorStore {
    /// Grants a role in one transaction with its audit entry.
    package func grant(
        _ role: OperatorRole, in project: ProjectID, to name: OperatorName, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> Operator {
        try await write { db in
            let table = OperatorTable(db: db)
            try table.grant(role, in: project, to: name, at: time, by: credential)
            guard let granted = try table.find(name) else { throw StoreError.invalid("an operator") }
            return granted
        }
    }

    /// Looks, grants and keeps the link in one transaction: of two admins who invite one name, the second is refused.
    package func invite(
        _ role: OperatorRole, in project: ProjectID, with link: SignInLink, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> OperatorInvitation {
        try await write { db in
            let table = OperatorTable(db: db)
            let roles = try table.find(link.name)?.roles ?? [:]
            guard roles.isEmpty || roles[project] != nil else { return .isElsewhere }
            let row = try table.grant(role, in: project, to: link.name, at: time, by: credential)
            guard roles.isEmpty else { return .changed }
            try table.keep(link, of: row)
            try table.audit(.operatorLinked, link.name, in: [project], at: time, by: credential)
            return .invited
        }
    }

    /// One operator in a fresh snapshot.
    package func console(operator name: OperatorName) async throws(StoreError) -> Operator? {
        try await lookUp { db in try OperatorTable(db: db).find(name) }
    }

    /// By the index of roles, or all.
    package func operators(of project: ProjectID?) async throws(StoreError) -> [Operator] {
        try await read { db in try OperatorTable(db: db).all(of: project) }
    }

    /// Takes roles away; who has none left loses sessions and links in the same transaction.
    package func revoke(
        _ name: OperatorName, in project: ProjectID?, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write { db in
            let table = OperatorTable(db: db)
            guard let row = try table.active(name) else { return false }
            let before = try table.projects(of: row)
            let gone = before.filter { project == nil || $0 == project }
            guard project == nil || !gone.isEmpty else { return false }
            for project in gone {
                try db.change(
                    "DELETE FROM operator_role WHERE operator = ? AND project = ?", [row, project.rawValue])
            }
            if gone.count == before.count { try table.revoke(row, at: time) }
            try table.audit(.operatorRevoked, name, in: gone, at: time, by: credential)
            return true
        }
    }

    /// Sets a secret and ends the other sessions in one transaction.
    package func set(
        _ secret: OperatorSecret, of name: OperatorName, keeping session: [UInt8]?, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write { db in
            let table = OperatorTable(db: db)
            guard let row = try table.active(name) else { return false }
            let action: AuditAction
            switch secret {
            case .password(let hash):
                action = .operatorPassword
                try db.change("UPDATE operator SET password_hash = ? WHERE seq = ?", [hash, row])
            case .oneTimeKey(let key):
                action = .operatorOneTimeKey
                try db.change(
                    "UPDATE operator SET one_time_key = ?, one_time_step = -1 WHERE seq = ?",
                    [key, row])
            }
            try db.change(
                "DELETE FROM operator_session WHERE operator = ? AND digest IS DISTINCT FROM ?",
                [row, session])
            try table.audit(action, name, in: table.projects(of: row), at: time, by: credential)
            return true
        }
    }

    /// Moves the step forward; a step that is not newer is refused.
    package func useOneTimeCode(ofStep step: Int64, by name: OperatorName) async throws(StoreError) -> Bool {
        try await write { db in
            try db.change(
                "UPDATE operator SET one_time_step = ?1 WHERE name = ?2 AND revoked_at IS NULL AND one_time_step < ?1",
                [step, name.rawValue]) > 0
        }
    }

    /// Keeps a link.
    package func insert(_ link: SignInLink) async throws(StoreError) -> Bool {
        try await write { db in
            guard let row = try OperatorTable(db: db).active(link.name) else { return false }
            try OperatorTable(db: db).keep(link, of: row)
            return true
        }
    }

    /// Reads and removes a link in one transaction.
    package func redeem(link digest: [UInt8], at time: Timestamp) async throws(StoreError) -> OperatorName? {
        try await write { db in
            let found = try db.row(
                """
                SELECT o.name, l.expires_at, o.revoked_at FROM sign_in_link l JOIN operator o ON o.seq = l.operator
                WHERE l.digest = ?
                """, [digest])
            guard let found else { return nil }
            try db.change("DELETE FROM sign_in_link WHERE digest = ?", [digest])
            guard found[1] as Int64 > time.milliseconds, (found[2] as Int64?) == nil else { return nil }
            return try OperatorName(stored: found[0])
        }
    }

    /// How many sessions an operator may have.
    private static var sessionLimit: Int { 100 }

    /// Begins a session; the oldest of too many end.
    package func begin(_ session: OperatorSession) async throws(StoreError) {
        try await write { db in
            let table = OperatorTable(db: db)
            guard let row = try table.active(session.name) else { return }
            try db.change(
                """
                INSERT INTO operator_session (digest, id, operator, created_at, used_at, proven_at, address, browser)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    session.digest, session.id, row, session.createdAt.milliseconds,
                    session.usedAt.milliseconds, session.provenAt.milliseconds, session.address, session.browser,
                ])
            try db.change(
                """
                DELETE FROM operator_session WHERE operator = ?1 AND digest IN (
                    SELECT digest FROM operator_session WHERE operator = ?1 ORDER BY used_at DESC LIMIT \(Int64.max) OFFSET ?2)
                """, [row, Self.sessionLimit])
            let credential = CredentialUse(
                id: CredentialUse.id(of: session.name), name: session.name.rawValue, address: session.address)
            try table.audit(
                .operatorSignedIn, session.name, in: table.projects(of: row), at: session.createdAt, by: credential)
        }
    }

    /// One session in a fresh snapshot.
    package func session(
        _ digest: [UInt8]
    ) async throws(StoreError) -> (session: OperatorSession, owner: Operator)? {
        try await lookUp { db in
            let row = try db.row(
                """
                SELECT \(OperatorSession.columns) FROM operator_session s JOIN operator o ON o.seq = s.operator
                WHERE s.digest = ?
                """, [digest])
            guard let row else { return nil }
            let session = try OperatorSession(row: row)
            return try OperatorTable(db: db).find(session.name).map { (session, $0) }
        }
    }

    /// A look at the primary key.
    package func noteUse(
        ofSession digest: [UInt8], at time: Timestamp, isProof: Bool
    ) async throws(StoreError) {
        try await write { db in
            _ = try db.change(
                """
                UPDATE operator_session SET used_at = greatest(used_at, ?1),
                    proven_at = CASE WHEN ?2 = 1 THEN greatest(proven_at, ?1) ELSE proven_at END
                WHERE digest = ?3
                """, [time.milliseconds, isProof, digest])
        }
    }

    /// By the index of an operator's sessions.
    package func sessions(of name: OperatorName) async throws(StoreError) -> [OperatorSession] {
        try await read { db in
            try db.rows(
                """
                SELECT \(OperatorSession.columns) FROM operator_session s JOIN operator o ON o.seq = s.operator
                WHERE o.name = ? ORDER BY s.used_at DESC, s.id
                """, [name.rawValue]
            ).map { try OperatorSession(row: $0) }
        }
    }

    /// Ends a session by its id.
    package func endSession(_ id: String, of name: OperatorName) async throws(StoreError) -> Bool {
        try await write { db in
            try db.change(
                "DELETE FROM operator_session WHERE id = ? AND operator = (SELECT seq FROM operator WHERE name = ?)",
                [id, name.rawValue]) > 0
        }
    }

    /// Keeps a draft; the oldest of too many are dropped.
    package func keep(_ draft: ComposerDraft) async throws(StoreError) {
        try await write { db in
            guard let row = try OperatorTable(db: db).active(draft.name) else { return }
            try db.change(
                """
                INSERT INTO composer_draft (id, operator, project, fields, changed_at) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (id) DO UPDATE SET fields = excluded.fields, changed_at = excluded.changed_at
                WHERE composer_draft.operator = excluded.operator AND composer_draft.project = excluded.project
                """, [draft.id, row, draft.project.rawValue, draft.fields, draft.changedAt.milliseconds])
            try db.change(
                """
                DELETE FROM composer_draft WHERE id IN (
                    SELECT id FROM composer_draft WHERE operator = ?1 AND project = ?2
                    ORDER BY changed_at DESC, id LIMIT \(Int64.max) OFFSET ?3)
                """, [row, draft.project.rawValue, ComposerDraft.limit])
        }
    }

    /// By the index of an operator's drafts.
    package func drafts(
        of name: OperatorName, in project: ProjectID
    ) async throws(StoreError) -> [ComposerDraft] {
        try await read { db in
            try db.rows(
                """
                SELECT d.id, d.fields, d.changed_at FROM composer_draft d JOIN operator o ON o.seq = d.operator
                WHERE o.name = ? AND d.project = ? ORDER BY d.changed_at DESC, d.id
                """, [name.rawValue, project.rawValue]
            ).map {
                ComposerDraft(
                    id: $0[0], name: name, project: project, fields: $0[1],
                    changedAt: Timestamp(milliseconds: $0[2]))
            }
        }
    }

    /// Drops a draft of the operator.
    package func dropDraft(_ id: String, of name: OperatorName) async throws(StoreError) {
        try await write { db in
            _ = try db.change(
                "DELETE FROM composer_draft WHERE id = ? AND operator = (SELECT seq FROM operator WHERE name = ?)",
                [id, name.rawValue])
        }
    }

    /// Walks the indexes of times.
    package func forgetSignIns(
        linksBefore time: Timestamp, sessionsBegunBefore begun: Timestamp, usedBefore used: Timestamp, limit: Int
    ) async throws(StoreError) -> Int {
        try await write { db in
            let links = try db.change(
                """
                DELETE FROM sign_in_link WHERE digest IN (
                    SELECT digest FROM sign_in_link INDEXED BY sign_in_link_by_expiry WHERE expires_at < ?1 LIMIT ?2)
                """, [time.milliseconds, limit])
            var sessions = 0
            for (index, column, before) in [
                ("operator_session_by_begin", "created_at", begun), ("operator_session_by_use", "used_at", used),
            ] {
                sessions += try db.change(
                    """
                    DELETE FROM operator_session WHERE digest IN (
                        SELECT digest FROM operator_session INDEXED BY \(index) WHERE \(column) < ?1 LIMIT ?2)
                    """, [before.milliseconds, limit])
            }
            return max(links, min(sessions, limit))
        }
    }
}

extension OperatorSession {
    fileprivate static let columns =
        "s.digest, s.id, o.name, s.created_at, s.used_at, s.proven_at, s.address, s.browser"

    fileprivate init(row: Row) throws {
        self.init(
            digest: row[0] as [UInt8], id: row[1], name: try OperatorName(stored: row[2]),
            createdAt: Timestamp(milliseconds: row[3]), usedAt: Timestamp(milliseconds: row[4]),
            provenAt: Timestamp(milliseconds: row[5]), address: row[6], browser: row[7])
    }
}
