import PushModel
import Store

/// A row to insert.
struct NewRegistration {
    let id: RegistrationID
    let token: StoredToken
    /// The app's number, and what it stands for.
    let app: Int64
    let name: AppNames.Name
    let address: Address
    let user: UserID?
    let appVersion: String?
    let createdAt: Timestamp
    let refreshedAt: Timestamp
    var isBound = false
    var provenAt: Timestamp?
    var quarantine: Quarantine?

    /// An install that registers for the first time; without an id it gets one.
    init(_ request: RegistrationRequest, id: RegistrationID? = nil, app: Int64, at time: Timestamp) throws {
        self.id = try id ?? .random()
        token = .random()
        self.app = app
        name = AppNames.Name(project: request.project, app: request.app)
        address = request.address
        user = request.owner?.user
        appVersion = request.appVersion
        createdAt = time
        refreshedAt = time
    }

    /// What a sender named and its push service accepted.
    ///
    /// - Parameter isFree: whether the project has no registration with the token, nor with the FID in front of it.
    init(
        adopting request: RegistrationRequest, as token: RegistrationToken, isFree: Bool, app: Int64, at time: Timestamp
    ) throws {
        id = try isFree ? token.id ?? .random() : .random()
        self.token = isFree ? StoredToken(token, of: id) : .random()
        self.app = app
        name = AppNames.Name(project: request.project, app: request.app)
        address = request.address
        user = nil
        appVersion = nil
        createdAt = time
        refreshedAt = time
        provenAt = time
    }

    /// What takes the place of a registration whose user left. The device is the same: what is known of its address stays.
    init(_ former: Registration, _ change: RegistrationChange, app: Int64, at time: Timestamp) throws {
        id = try .random()
        token = .random()
        self.app = app
        name = AppNames.Name(project: former.project, app: former.app)
        address = change.address?.applied(to: former.address) ?? former.address
        user = change.owner?.user
        appVersion = change.appVersion ?? former.appVersion
        createdAt = time
        refreshedAt = time
        isBound = former.isBound
        let isSame = address.identity == former.address.identity && address.channel == former.channel
        if isSame { provenAt = former.provenAt }
    }

    /// An imported one; times that the file does not give are those of the import.
    init(_ row: ImportedRegistration, _ names: RegistrationNames, in project: ProjectID, app: Int64, at time: Timestamp)
    {
        id = names.id
        token = names.token
        self.app = app
        name = AppNames.Name(project: project, app: row.app)
        address = row.address
        user = row.user
        appVersion = row.appVersion
        refreshedAt = row.refreshedAt ?? row.createdAt ?? time
        createdAt = row.createdAt ?? refreshedAt
        provenAt = row.provenAt
        quarantine = row.quarantine
    }

    /// Binds what ``RegistrationTable/insertion`` takes.
    func bind(to statement: any ParameterBinder, _ dialect: Dialect) {
        statement.bind(id.rawValue)
        statement.bind(token.value(dialect))
        statement.bind(app)
        statement.bind(blob: address.identity)
        statement.bind(address.channel.code)
        if let keys = address.detail { statement.bind(blob: keys) } else { statement.bindNull() }
        statement.bind(user?.rawValue)
        statement.bind(appVersion)
        statement.bind(createdAt.milliseconds)
        statement.bind(refreshedAt.milliseconds)
        statement.bind(provenAt?.milliseconds)
        statement.bind(quarantine?.time.milliseconds)
        statement.bind(quarantine?.reason.rawValue)
        if isBound { statement.bind(true) } else { statement.bindNull() }
    }

    /// The registration that it becomes.
    func registration(_ key: RegistrationKey) throws -> Registration {
        Registration(
            key: key, id: id, token: try token.token(of: id.rawValue), project: name.project, app: name.app,
            address: address, appVersion: appVersion, createdAt: createdAt, refreshedAt: refreshedAt, end: nil,
            provenAt: provenAt, quarantine: quarantine, user: user, isBound: isBound)
    }
}
