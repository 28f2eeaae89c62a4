package import PushModel

/// What an operator may do in a project: each role may what those before it may, and more.
package enum OperatorRole: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Read.
    case viewer
    /// Send.
    case sender
    /// Control messages, registrations, topics and links.
    case `operator`
    /// Everything: operators, keys, accounts, the audit log.
    case admin

    /// By what they may.
    package static func < (left: OperatorRole, right: OperatorRole) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// The role by which the store keeps what the operator did.
    package var stored: Role { self >= .operator ? .admin : .sender }
}

/// The name of an operator: ASCII letters, digits and `._@-`, at most 64 of them.
package struct OperatorName: TextIdentifier {
    /// The name.
    package let rawValue: String

    /// Checks the form.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "._@-", upTo: 64) else { return nil }
        self.rawValue = rawValue
    }
}

/// A person who signs in to the console.
package struct Operator: Hashable, Sendable {
    /// The name.
    package var name: OperatorName
    /// What the operator may do, by project.
    package var roles: [ProjectID: OperatorRole]
    /// When the operator was made.
    package var createdAt: Timestamp
    /// Since when the operator can't sign in.
    package var revokedAt: Timestamp?
    /// The hash of the password, as its maker writes it; `nil`: there is none.
    package var passwordHash: String?
    /// The key of one-time codes; `nil`: none are asked for.
    package var oneTimeKey: [UInt8]?

    /// Puts an operator together.
    package init(
        name: OperatorName, roles: [ProjectID: OperatorRole], createdAt: Timestamp, revokedAt: Timestamp? = nil,
        passwordHash: String? = nil, oneTimeKey: [UInt8]? = nil
    ) {
        self.name = name
        self.roles = roles
        self.createdAt = createdAt
        self.revokedAt = revokedAt
        self.passwordHash = passwordHash
        self.oneTimeKey = oneTimeKey
    }
}

/// What became of an invitation.
package enum OperatorInvitation: Hashable, Sendable {
    /// The operator is of the project and has the role.
    case changed
    /// The operator is new or was revoked, has the role, and can sign in by the link.
    case invited
    /// The operator has roles in other projects alone: nothing was changed.
    case isElsewhere
}

/// What an operator proves who they are with; `nil` leaves or takes away nothing.
package enum OperatorSecret: Hashable, Sendable {
    /// The hash of a password; `nil`: none any more.
    case password(hash: String?)
    /// The key of one-time codes; `nil`: none any more.
    case oneTimeKey([UInt8]?)
}

/// A link that signs an operator in once, as stored: of the secret only its SHA-256.
package struct SignInLink: Hashable, Sendable {
    /// SHA-256 of the secret, 32 bytes.
    package var digest: [UInt8]
    /// Who is signed in.
    package var name: OperatorName
    /// When it ends.
    package var expiresAt: Timestamp

    /// Puts a link together.
    package init(digest: [UInt8], name: OperatorName, expiresAt: Timestamp) {
        self.digest = digest
        self.name = name
        self.expiresAt = expiresAt
    }
}

/// A session of an operator, as stored: of the secret only its SHA-256.
package struct OperatorSession: Hashable, Sendable {
    /// SHA-256 of the secret, 32 bytes.
    package var digest: [UInt8]
    /// A public id, by which lists name it.
    package var id: String
    /// Whose it is.
    package var name: OperatorName
    /// When it began.
    package var createdAt: Timestamp
    /// When it was used last, to about a minute.
    package var usedAt: Timestamp
    /// When the operator proved last who they are.
    package var provenAt: Timestamp
    /// The address that signed in.
    package var address: String?
    /// What the browser calls itself, shortened.
    package var browser: String?

    /// Puts a session together.
    package init(
        digest: [UInt8], id: String, name: OperatorName, createdAt: Timestamp, usedAt: Timestamp, provenAt: Timestamp,
        address: String? = nil, browser: String? = nil
    ) {
        self.digest = digest
        self.id = id
        self.name = name
        self.createdAt = createdAt
        self.usedAt = usedAt
        self.provenAt = provenAt
        self.address = address
        self.browser = browser
    }
}

/// A message that an operator is writing.
package struct ComposerDraft: Hashable, Sendable {
    /// Its id, unique.
    package var id: String
    /// Who writes it.
    package var name: OperatorName
    /// In which project.
    package var project: ProjectID
    /// The fields, opaque to the store.
    package var fields: String
    /// When it was changed last.
    package var changedAt: Timestamp

    /// The most drafts that an operator has in a project; of more the oldest are dropped.
    package static let limit = 20

    /// Puts a draft together.
    package init(id: String, name: OperatorName, project: ProjectID, fields: String, changedAt: Timestamp) {
        self.id = id
        self.name = name
        self.project = project
        self.fields = fields
        self.changedAt = changedAt
    }
}
