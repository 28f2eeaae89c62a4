package import PushModel

/// A registration as it comes in by an import and goes out by an export.
package struct ImportedRegistration: Hashable, Sendable {
    /// The FID; `nil`: the one in front of the token, or a new one.
    package var id: RegistrationID?
    /// The registration token; `nil`: a new one.
    package var token: RegistrationToken?
    /// The app.
    package var app: AppID
    /// The address; (app, address) is unique.
    package var address: Address
    /// Who uses the device.
    package var user: UserID?
    /// The app's version.
    package var appVersion: String?
    /// Its topics, 2000 at most.
    package var topics: [ImportedTopic] = []
    /// When it was made; `nil`: when it was refreshed.
    package var createdAt: Timestamp?
    /// When the app last registered; `nil`: when it was made, or now.
    package var refreshedAt: Timestamp?
    /// When its push service first accepted the address.
    package var provenAt: Timestamp?
    /// Its quarantine.
    package var quarantine: Quarantine?
    /// What it gets if it is new. Who reads the file makes them, on all cores; `nil`: the store does, on the one thread that
    /// writes.
    package var names: RegistrationNames?

    /// A registration with what must be said.
    package init(app: AppID, address: Address) {
        self.app = app
        self.address = address
    }
}

/// The FID of a new registration, and its token as the store keeps it.
package struct RegistrationNames: Hashable, Sendable {
    /// The FID.
    package let id: RegistrationID
    /// The token.
    package let token: StoredToken

    /// Those that the row has, otherwise random ones.
    package init(of row: ImportedRegistration) throws {
        id = try row.id ?? row.token?.id ?? .random()
        token = row.token.map { [id] in StoredToken($0, of: id) } ?? .random()
    }
}

/// A topic of an imported registration.
package struct ImportedTopic: Hashable, Sendable {
    /// The topic.
    package var topic: Topic
    /// Since when; `nil`: since the registration was made.
    package var createdAt: Timestamp?

    /// Puts one together.
    package init(_ topic: Topic, createdAt: Timestamp? = nil) {
        self.topic = topic
        self.createdAt = createdAt
    }
}

/// Why the store does not take an imported registration, though it is well-formed.
package enum ImportRefusal: Hashable, Sendable {
    /// The FID belongs to an installation, or to a registration with another address, of another app, or that ended.
    case idTaken
    /// The address is registered under another FID.
    case otherID(RegistrationID)
    /// The address is registered under this FID with another token.
    case otherToken
    /// Another registration holds the token.
    case tokenTaken
    /// The device is registered for another user under the same FID.
    case otherUser
    /// More than 2000 topics.
    case tooManyTopics
}

/// How far an import came: written in the same transaction as the rows.
package struct ImportPosition: Hashable, Sendable {
    /// What tells this file from another one under the same name.
    package var fingerprint: Int64
    /// Lines done.
    package var line: Int64
    /// Bytes done.
    package var offset: Int64
    /// Registrations taken so far.
    package var imported: Int64 = 0
    /// Registrations refused so far.
    package var rejected: Int64 = 0

    /// A position with nothing counted.
    package init(fingerprint: Int64, line: Int64, offset: Int64) {
        self.fingerprint = fingerprint
        self.line = line
        self.offset = offset
    }
}
