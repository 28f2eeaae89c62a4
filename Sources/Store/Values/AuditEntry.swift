package import PushModel

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
    /// A registration was made because a sender named its token and Google took a message for it; the subject is its FID.
    case registrationAdopted = "registration.adopt"
    /// Quarantines of an app were lifted; the subject is its ``PushModel/AppKey/name(among:)``. Or that of a registration,
    /// because its app registered again or changed it; the subject is its FID.
    case quarantineLifted = "quarantine.lift"
    /// Registrations that were in quarantine for long were ended; the subject is the project.
    case quarantinePruned = "quarantine.prune"
    /// A person was erased; the subject is a keyed digest in place of the name.
    case userErased = "user.erase"
    /// A message was paused; the subject is its id, as in the next two.
    case messagePaused = "message.pause"
    /// A message was resumed.
    case messageResumed = "message.resume"
    /// A message was cancelled.
    case messageCancelled = "message.cancel"
    /// A managed link was made; the subject is its ``LinkKey/name``, as in the next four.
    case linkCreated = "link.create"
    /// A link has another target, name, visibility or end.
    case linkChanged = "link.change"
    /// A link was blocked.
    case linkBlocked = "link.block"
    /// A link is answered again.
    case linkUnblocked = "link.unblock"
    /// A link was deleted.
    case linkDeleted = "link.delete"
    /// A broadcast channel was made; the subject is its name, as in the next one.
    case channelCreated = "channel.create"
    /// A broadcast channel was deleted.
    case channelDeleted = "channel.delete"
    /// A webhook was made; the subject is its id, as in the next four.
    case webhookCreated = "webhook.create"
    /// A webhook's settings or state were changed.
    case webhookChanged = "webhook.change"
    /// A webhook was deleted.
    case webhookDeleted = "webhook.delete"
    /// A webhook got new secrets.
    case webhookSecretRotated = "webhook.rotateSecret"
    /// Events were sent to a webhook once more.
    case webhookReplayed = "webhook.replay"
    /// Links were taken over from a file; the subject is the project.
    case linksImported = "link.import"
    /// An operator got a role; the subject is the name, as in the next six.
    case operatorGranted = "operator.grant"
    /// An operator lost a role.
    case operatorRevoked = "operator.revoke"
    /// An admin made a link that signs an operator in.
    case operatorLinked = "operator.link"
    /// An operator signed in to the console.
    case operatorSignedIn = "operator.signIn"
    /// Somebody failed to sign in to the console, or to prove who they are, as an operator.
    case operatorFailedToSignIn = "operator.failSignIn"
    /// An operator has another password, or none.
    case operatorPassword = "operator.setPassword"
    /// An operator's one-time codes have another key, or are not asked for.
    case operatorOneTimeKey = "operator.setOneTimeCodes"
    /// A message was sent from the console; the subject is its id.
    case messageSent = "message.send"
    /// A registration was ended from the console; the subject is its FID.
    case registrationEnded = "registration.end"
    /// A stored project was added, changed or taken from an earlier version; the subject is its id, as in the next two.
    case projectApplied = "project.apply"
    /// A stored project was removed.
    case projectRemoved = "project.remove"
    /// The secrets of a stored project were sealed with another key.
    case projectResealed = "project.reseal"
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
