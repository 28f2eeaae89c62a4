package import PushModel

/// The links of all projects. What a link means is not the store's matter: it keeps the parameters as they are.
package protocol LinkStore: Sendable {
    /// Makes a link under the first of its suffixes that is free, or finds the one that is there already, see
    /// ``NewLink/digest``: one that is blocked, too. Deleted and expired links keep their suffixes.
    ///
    /// - Parameter audit: kept with a link that is made, in the same transaction; its subject becomes ``LinkKey/name``.
    func create(_ link: NewLink, audit: AuditEntry?) async throws(StoreError) -> LinkCreation

    /// The link of a prefix and suffix, whatever its state; suffixes are compared byte for byte. By an index.
    func link(_ key: LinkKey) async throws(StoreError) -> Link?

    /// Links of a project that a filter keeps, the newest first. One call looks at a bounded number of links: a page may
    /// have fewer than `limit`, or none, and go on.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func links(
        of project: ProjectID, _ filter: LinkFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Link>

    /// Changes a link of a project; `nil`: the project has no such link, or it is deleted.
    ///
    /// - Parameter audit: kept in the same transaction if the change makes a difference; its subject becomes
    ///   ``LinkKey/name``.
    func change(
        _ key: LinkKey, of project: ProjectID, _ change: LinkChange, audit: AuditEntry?
    ) async throws(StoreError) -> Link?

    /// How many links of a prefix have a suffix of this kind and length: how full the space of short suffixes is. May be
    /// some seconds old.
    func linkCount(of prefix: String, _ kind: LinkKind, suffixLength: Int) async throws(StoreError) -> Int

    /// Takes links over in one transaction, each with one suffix; a row answers what became of it, in order. Of two rows
    /// with one suffix the first is taken.
    func importLinks(_ links: [NewLink]) async throws(StoreError) -> [LinkImport]

    /// Links of a project that are not deleted, the oldest first: at most `limit` behind `id`, which is 0 at first. None:
    /// the end.
    func exportLinks(of project: ProjectID, after id: LinkID, limit: Int) async throws(StoreError) -> [Link]

    /// How often links were made and changed, see ``LinkVersions``. Cheap; from any thread.
    var linkVersions: LinkVersions { get }

    /// A number that is another one once another process has committed anything since it was asked for. What this process
    /// commits leaves it as it is. It may become another one without a commit, too.
    func otherCommits() async throws(StoreError) -> Int64

    /// Adds to the counters of links, all or nothing. Those of links that are deleted or unknown are dropped.
    func add(_ counts: [LinkCount]) async throws(StoreError)

    /// The counters of a link on these days, in order of day, platform and event; none that are zero.
    func counts(of link: LinkID, days: ClosedRange<Int>) async throws(StoreError) -> [LinkCount]

    /// The links that were made with a message (``NewMessage/links``), in their order, with the sums of their counters of
    /// all days; deleted ones too. None for a message that the project does not have.
    func links(of message: MessageID, in project: ProjectID) async throws(StoreError) -> [MessageLink]

    /// Forgets the counters of days before `day`: at most `limit` rows; says how many.
    func forgetLinkCounts(before day: Int, limit: Int) async throws(StoreError) -> Int
}
