package import PushModel

/// A gateway on a store that several share. Times are by the store's clock.
package struct StoreNode: Hashable, Sendable {
    /// How often a node says that it lives.
    package static let interval: Duration = .seconds(3)
    /// After so long without a word a node counts as gone.
    package static let lifetime: Duration = .seconds(15)

    /// Its number, which no other node ever gets.
    package var number: Int64
    /// Host and process.
    package var name: String
    /// The version of the program.
    package var version: String
    /// Under which it is asked; `nil`: it does not listen yet.
    package var address: String?
    /// When it began.
    package var startedAt: Timestamp
    /// When it last said that it lives.
    package var heardAt: Timestamp
    /// Whether it was heard of within ``lifetime``.
    package var isLive: Bool
    /// What it says of the stored projects; `nil`: nothing, since it reads project files or is of an earlier version.
    package var projects: ProjectStanding?

    /// Describes a node.
    package init(
        number: Int64, name: String, version: String, address: String?, startedAt: Timestamp, heardAt: Timestamp,
        isLive: Bool, projects: ProjectStanding? = nil
    ) {
        self.number = number
        self.name = name
        self.version = version
        self.address = address
        self.startedAt = startedAt
        self.heardAt = heardAt
        self.isLive = isLive
        self.projects = projects
    }
}
