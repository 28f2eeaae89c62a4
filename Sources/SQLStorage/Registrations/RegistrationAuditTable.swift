import PushModel
import Store

/// Who followed whom on a device, within one transaction. Each change is also in the audit log.
struct AuditTable {
    let db: any Database
    /// When the changes are made.
    var time = Timestamp(milliseconds: 0)
    /// What they are made with.
    var credential: ProvenCredential?

    static let of = """
        SELECT x.time, x.cause, a.name, x.registration, x.former, x.user, x.former_user, x.credential
        FROM registration_audit x CROSS JOIN app a ON a.id = x.app
        WHERE (x.registration = ?1 OR x.former = ?1) AND a.project = ?2 ORDER BY x.id DESC LIMIT ?3
        """

    private static let app = "SELECT project, name, platform FROM app WHERE id = ?"
    private static let insertion = """
        INSERT INTO registration_audit (app, time, cause, registration, former, user, former_user, credential)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """

    func add(
        _ cause: RegistrationAudit.Cause, _ app: Int64, _ id: RegistrationID, _ user: UserID?,
        former: (id: RegistrationID, user: UserID?)?
    ) throws {
        let statement = try db.statement(Self.insertion)
        bind(cause, app, id, user, former, to: statement)
        try statement.post()
        guard let row = try db.row(Self.app, [app]) else { throw StoreError.invalid("an app") }
        let key = AppKey(try Platform(stored: row[2]), try AppID(stored: row[1]))
        try AuditLogTable(db: db).add(entry(cause, key, of: try ProjectID(stored: row[0]), id, user, former))
    }

    /// Adds that registrations of an app that were made have users.
    func add(
        usersOfNew made: [(id: RegistrationID, user: UserID)], _ app: Int64, _ key: AppKey, of project: ProjectID
    ) throws {
        guard !made.isEmpty else { return }
        let rows = RowBatch()
        for (id, user) in made {
            bind(.userAssigned, app, id, user, nil, to: rows)
            rows.endRow()
        }
        try db.insert(Self.insertion, rows)
        try AuditLogTable(db: db).add(made.map { entry(.userAssigned, key, of: project, $0.id, $0.user, nil) })
    }

    /// Binds what ``insertion`` takes.
    private func bind(
        _ cause: RegistrationAudit.Cause, _ app: Int64, _ id: RegistrationID, _ user: UserID?,
        _ former: (id: RegistrationID, user: UserID?)?, to row: any ParameterBinder
    ) {
        row.bind(app)
        row.bind(time.milliseconds)
        row.bind(cause.rawValue)
        row.bind(id.rawValue)
        row.bind(former?.id.rawValue)
        row.bind(user?.rawValue)
        row.bind(former?.user?.rawValue)
        row.bind(credential?.text)
    }

    /// The entry of the audit log for a change.
    private func entry(
        _ cause: RegistrationAudit.Cause, _ app: AppKey, of project: ProjectID, _ id: RegistrationID, _ user: UserID?,
        _ former: (id: RegistrationID, user: UserID?)?
    ) -> AuditEntry {
        var details = Self.details(app)
        details["cause"] = cause.rawValue.uppercased()
        details["user"] = user?.rawValue
        details["formerUser"] = former?.user?.rawValue
        details["formerRegistration"] = former?.id.rawValue
        if let proofs = credential?.proofs, !proofs.isEmpty { details["proof"] = proofs.joined(separator: " ") }
        return AuditEntry(
            time: time, project: project, action: AuditAction(cause), subject: id.rawValue, details: details,
            credential: credential?.use ?? .gateway)
    }

    /// Adds that a registration that was made has a user.
    func addUser(of made: Registration, _ app: Int64) throws {
        guard made.user != nil else { return }
        try add(.userAssigned, app, made.id, made.user, former: nil)
    }

    /// Adds that a registration was made for a token that a sender named.
    func addAdoption(of registration: Registration) throws {
        try AuditLogTable(db: db).add(
            AuditEntry(
                time: time, project: registration.project, action: .registrationAdopted,
                subject: registration.id.rawValue, details: Self.details(registration.appKey),
                credential: credential?.use ?? .gateway))
    }

    /// Adds that a registration's quarantine ends, because its app registered or changed it.
    func addLift(of registration: Registration) throws {
        try AuditLogTable(db: db).add(
            AuditEntry(
                time: time, project: registration.project, action: .quarantineLifted, subject: registration.id.rawValue,
                details: Self.details(registration.appKey), credential: credential?.use ?? .gateway))
    }

    /// An app's id may be that of another platform's app too.
    private static func details(_ app: AppKey) -> [String: String] {
        ["app": app.id.rawValue, "platform": app.platform.rawValue]
    }

    func of(_ id: RegistrationID, in project: ProjectID, limit: Int) throws -> [RegistrationAudit] {
        try db.rows(Self.of, [id.rawValue, project.rawValue, limit]).map {
            RegistrationAudit(
                time: Timestamp(milliseconds: $0[0]), cause: try .init(storedCase: $0[1]),
                app: try AppID(stored: $0[2]), registration: try RegistrationID(stored: $0[3]),
                former: try ($0[4] as String?).map { try RegistrationID(stored: $0) },
                user: try ($0[5] as String?).map { try UserID(stored: $0) },
                formerUser: try ($0[6] as String?).map { try UserID(stored: $0) }, credential: $0[7])
        }
    }
}

extension AuditAction {
    /// What the audit log calls a change of a registration.
    fileprivate init(_ cause: RegistrationAudit.Cause) {
        switch cause {
        case .userAssigned, .userChanged: self = .userChanged
        case .deviceTokenMoved, .deviceTokenChanged: self = .deviceTokenChanged
        }
    }
}
