import Foundation
import GRDB
import PushModel
import Store

/// A row to insert.
struct NewRegistration {
    let id: RegistrationID
    let token: StoredToken
    let app: Int64
    let deviceToken: DeviceToken
    let environment: APNSEnvironment
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
        deviceToken = request.deviceToken
        environment = request.environment
        user = request.owner?.user
        appVersion = request.appVersion
        createdAt = time
        refreshedAt = time
    }

    /// What takes the place of a registration whose user left. The device is the same: what is known of its token stays.
    init(_ former: Registration, _ change: RegistrationChange, app: Int64, at time: Timestamp) throws {
        id = try .random()
        token = .random()
        self.app = app
        deviceToken = change.deviceToken ?? former.deviceToken
        environment = change.environment ?? former.environment
        user = change.owner?.user
        appVersion = change.appVersion ?? former.appVersion
        createdAt = time
        refreshedAt = time
        isBound = former.isBound
        if deviceToken == former.deviceToken, environment == former.environment { provenAt = former.provenAt }
    }

    /// An imported one; times that the file does not give are those of the import.
    init(_ row: ImportedRegistration, app: Int64, at time: Timestamp) throws {
        let id = try row.id ?? row.token?.id ?? .random()
        self.id = id
        token = row.token.map { StoredToken($0, of: id) } ?? .random()
        self.app = app
        deviceToken = row.deviceToken
        environment = row.environment
        user = row.user
        appVersion = row.appVersion
        refreshedAt = row.refreshedAt ?? row.createdAt ?? time
        createdAt = row.createdAt ?? refreshedAt
        provenAt = row.provenAt
        quarantine = row.quarantine
    }

    /// What ``RegistrationTable/insertion`` takes.
    var arguments: StatementArguments {
        [
            id.rawValue, token.databaseValue, app, Data(deviceToken.bytes), environment.code, user?.rawValue,
            appVersion, createdAt.milliseconds, refreshedAt.milliseconds, provenAt?.milliseconds,
            quarantine?.time.milliseconds, quarantine?.reason.rawValue, isBound ? 1 : nil,
        ]
    }
}
