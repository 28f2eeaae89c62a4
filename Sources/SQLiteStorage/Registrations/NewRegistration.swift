import Foundation
import GRDB
import PushModel
import Store

/// A row to insert.
struct NewRegistration {
    let id: RegistrationID
    let token: StoredToken
    let app: Int64
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
        address = request.address
        user = request.owner?.user
        appVersion = request.appVersion
        createdAt = time
        refreshedAt = time
    }

    /// What takes the place of a registration whose user left. The device is the same: what is known of its address stays.
    init(_ former: Registration, _ change: RegistrationChange, app: Int64, at time: Timestamp) throws {
        id = try .random()
        token = .random()
        self.app = app
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
    init(_ row: ImportedRegistration, app: Int64, at time: Timestamp) throws {
        let id = try row.id ?? row.token?.id ?? .random()
        self.id = id
        token = row.token.map { StoredToken($0, of: id) } ?? .random()
        self.app = app
        address = row.address
        user = row.user
        appVersion = row.appVersion
        refreshedAt = row.refreshedAt ?? row.createdAt ?? time
        createdAt = row.createdAt ?? refreshedAt
        provenAt = row.provenAt
        quarantine = row.quarantine
    }

    /// What ``RegistrationTable/insertion`` takes.
    var arguments: StatementArguments {
        let (bytes, channel, webKeys) = address.columns
        return [
            id.rawValue, token.databaseValue, app, bytes, channel, webKeys, user?.rawValue, appVersion,
            createdAt.milliseconds, refreshedAt.milliseconds, provenAt?.milliseconds,
            quarantine?.time.milliseconds, quarantine?.reason.rawValue, isBound ? 1 : nil,
        ]
    }
}
