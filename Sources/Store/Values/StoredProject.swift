package import PushModel

/// A project as all gateways of a store read it: its file, and what is secret of it sealed.
package struct StoredProject: Hashable, Sendable {
    /// Its id, as its file says.
    package var id: ProjectID
    /// The file that it was read from, for messages.
    package var file: String
    /// The text of the file. It names files with secrets, and holds none.
    package var text: String
    /// The files that it names, sealed together with the id and the text.
    package var sealed: [UInt8]

    /// Puts a project together.
    package init(id: ProjectID, file: String, text: String, sealed: [UInt8]) {
        self.id = id
        self.file = file
        self.text = text
        self.sealed = sealed
    }
}

/// A state of all stored projects, of which the newest is in force.
package struct ProjectVersion: Hashable, Sendable {
    /// So many are kept; older ones go with the next one that is stored.
    package static let kept = 20

    /// From 1; a later one is higher.
    package var number: Int64
    /// When it was stored, by the store's clock.
    package var storedAt: Timestamp
    /// Who stored it.
    package var credential: CredentialUse
    /// What was done, for people.
    package var note: String
    /// The version of the program that did it.
    package var program: String
    /// By which a key for its secrets is known.
    package var keyCheck: [UInt8]

    /// Describes a version.
    package init(
        number: Int64, storedAt: Timestamp, credential: CredentialUse, note: String, program: String, keyCheck: [UInt8]
    ) {
        self.number = number
        self.storedAt = storedAt
        self.credential = credential
        self.note = note
        self.program = program
        self.keyCheck = keyCheck
    }
}

/// The projects of one version.
package struct StoredProjects: Hashable, Sendable {
    /// The version.
    package var version: ProjectVersion
    /// In the order of their ids.
    package var projects: [StoredProject]

    /// Puts a version together.
    package init(version: ProjectVersion, projects: [StoredProject]) {
        self.version = version
        self.projects = projects
    }
}

/// A version that is to be stored.
package struct NewProjectVersion: Sendable {
    /// All its projects.
    package var projects: [StoredProject]
    /// The newest version when it was made, `nil`: there was none. When another is there by now, or this one was sealed with
    /// another key, it is not stored.
    package var base: ProjectVersion?
    /// As ``ProjectVersion/note``.
    package var note: String
    /// As ``ProjectVersion/program``.
    package var program: String
    /// As ``ProjectVersion/keyCheck``.
    package var keyCheck: [UInt8]
    /// Who stores it.
    package var credential: CredentialUse
    /// What the audit log is to say, by project.
    package var changes: [ProjectID: Change]

    /// What became of a project.
    package struct Change: Hashable, Sendable {
        /// What was done.
        package var action: AuditAction
        /// More about it.
        package var details: [String: String]

        /// Describes a change.
        package init(_ action: AuditAction, _ details: [String: String] = [:]) {
            self.action = action
            self.details = details
        }
    }

    /// Describes a version.
    package init(
        projects: [StoredProject], base: ProjectVersion?, note: String, program: String, keyCheck: [UInt8],
        credential: CredentialUse, changes: [ProjectID: Change]
    ) {
        self.projects = projects
        self.base = base
        self.note = note
        self.program = program
        self.keyCheck = keyCheck
        self.credential = credential
        self.changes = changes
    }
}

/// What a gateway says of the stored projects.
package struct ProjectStanding: Hashable, Sendable {
    /// The version that it has in force; 0: none yet.
    package var version: Int64
    /// Why it does not take a newer one; `nil`: it has the newest.
    package var problem: String?

    /// Describes a standing.
    package init(version: Int64, problem: String? = nil) {
        self.version = version
        self.problem = problem
    }
}
