package import PushModel

/// A credential, as one request or command used it: what messages and audit entries keep of who asked for them.
package struct CredentialUse: Hashable, Sendable {
    /// The public id of an API key, or the email of a service account; ``commandID`` and ``gatewayID`` otherwise.
    package var id: String
    /// The name of the key; of a command the name of the user who ran it.
    package var name: String?
    /// What it may do; `nil`: a command on the machine of the store, or the gateway itself.
    package var role: Role?
    /// The IP address that the request came from, as the outermost proxy of ours saw it.
    package var address: String?

    /// The id of commands that work on the store.
    package static let commandID = "command"
    /// The id of what the gateway does by itself.
    package static let gatewayID = "gateway"

    /// The gateway itself.
    package static let gateway = CredentialUse(id: gatewayID)

    /// Puts a use together.
    package init(id: String, name: String? = nil, role: Role? = nil, address: String? = nil) {
        self.id = id
        self.name = name
        self.role = role
        self.address = address
    }
}

/// What a change of a registration is made with: who asked, and what they proved beside it. It holds no secret.
package struct ProvenCredential: Hashable, Sendable {
    /// Who asked.
    package var use: CredentialUse
    /// What was proven beside the credential: `installation:` with the FID, `customToken:` with the account that signed it;
    /// `import` for a row of a file.
    package var proofs: [String]

    /// Puts a credential together.
    package init(_ use: CredentialUse, proofs: [String] = []) {
        self.use = use
        self.proofs = proofs
    }

    /// `apiKey:ID installation:FID customToken:EMAIL`, as the audit of a registration shows it.
    package var text: String {
        let kind = use.role == nil ? "" : use.id.contains("@") ? "serviceAccount:" : "apiKey:"
        return ([kind + use.id] + proofs).joined(separator: " ")
    }
}

/// What an audit entry says was done.
package enum AuditAction: String, Hashable, Sendable, CaseIterable {
    /// An API key was made; the subject is its id.
    case keyCreated = "key.create"
    /// An API key was revoked.
    case keyRevoked = "key.revoke"
    /// A service account was made with its first key; the subject is its email, as in the next five.
    case accountCreated = "serviceAccount.create"
    /// A service account got another key.
    case accountKeyAdded = "serviceAccount.addKey"
    /// A key of a service account was revoked.
    case accountKeyRevoked = "serviceAccount.revokeKey"
    /// A service account was disabled.
    case accountDisabled = "serviceAccount.disable"
    /// A service account was enabled again.
    case accountEnabled = "serviceAccount.enable"
    /// A service account was deleted with its keys.
    case accountDeleted = "serviceAccount.delete"
    /// A registration got a user, another one or none; the subject is its FID since, as in the next one.
    case userChanged = "registration.changeUser"
    /// A registration has another device token, perhaps one that another registration had.
    case deviceTokenChanged = "registration.changeDeviceToken"
    /// Quarantines of an app were lifted; the subject is its bundle id.
    case quarantineLifted = "quarantine.lift"
    /// Registrations that were in quarantine for long were ended; the subject is the project.
    case quarantinePruned = "quarantine.prune"
    /// A message was paused; the subject is its id, as in the next two.
    case messagePaused = "message.pause"
    /// A message was resumed.
    case messageResumed = "message.resume"
    /// A message was cancelled.
    case messageCancelled = "message.cancel"
}

/// One line of the audit log: who did what to which thing. It never holds a secret, a device token or a payload.
package struct AuditEntry: Hashable, Sendable {
    /// When it was done.
    package var time: Timestamp
    /// The project that it belongs to.
    package var project: ProjectID
    /// What was done.
    package var action: AuditAction
    /// The thing that it was done to, see ``AuditAction``.
    package var subject: String
    /// More about it, by name: a role, a key's id, the users before and after.
    package var details: [String: String]
    /// Who did it.
    package var credential: CredentialUse

    /// Puts an entry together.
    package init(
        time: Timestamp, project: ProjectID, action: AuditAction, subject: String, details: [String: String] = [:],
        credential: CredentialUse
    ) {
        self.time = time
        self.project = project
        self.action = action
        self.subject = subject
        self.details = details
        self.credential = credential
    }
}

/// What a list of audit entries keeps.
package struct AuditFilter: Hashable, Sendable {
    /// Only entries of this project.
    package var project: ProjectID?
    /// Only entries of this action.
    package var action: AuditAction?
    /// Only entries about this thing.
    package var subject: String?
    /// Only entries of this time or later.
    package var since: Timestamp?

    /// Puts a filter together.
    package init(
        project: ProjectID? = nil, action: AuditAction? = nil, subject: String? = nil, since: Timestamp? = nil
    ) {
        self.project = project
        self.action = action
        self.subject = subject
        self.since = since
    }
}

/// The audit log. Changes that are one step of the store write their entry in the same transaction; ``record(_:)`` is
/// for those that are not.
package protocol AuditStore: Sendable {
    /// Appends an entry.
    func record(_ entry: AuditEntry) async throws(StoreError)

    /// Entries that a filter keeps, the newest first. One call looks at a bounded part of the log: a page may have fewer
    /// than `limit` entries, or none, and go on.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func auditEntries(
        _ filter: AuditFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<AuditEntry>

    /// Forgets at most `limit` entries that are older than `time`; says how many.
    func forgetAuditEntries(before time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
