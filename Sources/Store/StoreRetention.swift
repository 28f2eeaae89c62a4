package import PushModel

/// The end of what a store keeps of messages. Everything goes in steps that are so short that other writes hardly notice,
/// and each step is a transaction: a process that ends between two of them goes on where it was.
///
/// Only messages that ended go. A message's payload goes first; its report and its part of the ledger stay until the
/// message itself goes, with its receipts, its links to short links and all sums of it. Sums by day go when the day is as
/// old as the ledger may be, and what is kept of purged registrations when no message is left that may name them.
package protocol StoreRetention: Sendable {
    /// Removes some of a part, one step of it.
    ///
    /// - Returns: how much; the pass is done when nothing else of the part is out of date.
    func remove(
        _ part: RetentionPart, by rules: RetentionRules, at now: Timestamp
    ) async throws(StoreError) -> RetentionProgress

    /// Sees to it that no file of the store holds what was removed: that was done to the tables, while the log has their
    /// pages as they were, and unused parts of pages may have copies of what was erased. Writes go on meanwhile, but for a
    /// file that is written anew.
    ///
    /// - Returns: what stood in the way for some seconds; `nil`: it is done.
    func cleanFiles() async throws(StoreError) -> CleaningObstacle?

    /// Whether ``cleanFiles()`` has to be called again: it failed, or a reader stood in the way.
    var hasUncleanFiles: Bool { get }
}

/// Why files of the store may hold what was removed.
package enum CleaningObstacle: String, Hashable, Sendable, CaseIterable {
    /// A reader, perhaps of another process, has the store open as it was. The gateway goes on trying.
    case reader
    /// The file is too large to be written anew beside the gateway: an operator has to.
    case fileSize
    /// The files are a server's, which keeps old rows for a while, and its log, archives and standbys longer.
    case server
}

/// What is removed, each with a pace of its own, in the order in which one pass removes it.
package enum RetentionPart: String, Hashable, Sendable, CaseIterable {
    /// What ended messages said.
    case payloads
    /// What devices reported.
    case receipts
    /// Ended messages, with their part of the ledger.
    case messages
    /// Sums by day.
    case days
    /// Days of the ledger that hold nothing any more, in a store that keeps it by days; the days that come get their room.
    case ledgerDays = "days of the ledger"
    /// What is kept of purged registrations.
    case formerRegistrations = "former registrations"
    /// Pages of the file that hold nothing: the file system gets them back.
    case freePages = "free pages"
}

/// How long messages are kept, by project.
package struct RetentionRules: Hashable, Sendable {
    /// Of projects that are not named, as of those that are not configured any more.
    package var standard: RetentionPolicy
    /// By project.
    package var byProject: [ProjectID: RetentionPolicy]

    /// The longest that a project keeps its ledger, in days.
    package var longestLedgerDays: Int {
        byProject.values.reduce(standard.ledgerDays) { max($0, $1.ledgerDays) }
    }

    /// Puts rules together.
    package init(standard: RetentionPolicy, byProject: [ProjectID: RetentionPolicy] = [:]) {
        self.standard = standard
        self.byProject = byProject
    }

    /// The policy of a project.
    package subscript(project: ProjectID) -> RetentionPolicy { byProject[project] ?? standard }
}

/// What a step removed.
package struct RetentionProgress: Hashable, Sendable {
    /// How many: payloads, receipts, messages, sums, days of the ledger, registrations or pages.
    package var count: Int
    /// Whether this pass is done: nothing else is out of date.
    package var isDone: Bool

    /// Describes a step.
    package init(count: Int, isDone: Bool) {
        self.count = count
        self.isDone = isDone
    }
}
