import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport

@testable import Links

/// A project with links, a store of its own, and how often that was asked for a link.
final class CountingLinkStore: LinkStore {
    static let settings = LinkSettings(
        prefixes: [LinkPrefix(host: "go.example.com"), LinkPrefix(host: "go.example.com", path: "/promo")],
        targets: ["a.example", "*.b.example"])
    static let project = Project(
        id: ProjectID(rawValue: "demo")!, number: 1, apps: [], links: settings)

    private let directory: TestDirectory
    let store: SQLiteStore
    private let counter = Mutex(0)
    /// What it says instead of ``otherCommits()``.
    let failure = Mutex<StoreError?>(nil)

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(
            directory: directory.path, role: .gateway,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// How often the store was asked for a link.
    var lookUps: Int { counter.withLock { $0 } }

    /// Another process' view of the store.
    func command() throws -> SQLiteStore {
        try SQLiteStore(
            directory: directory.path, role: .command,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    static func newLink(_ suffix: String, _ parameters: String = "link=https%3A%2F%2Fa.example%2F") -> NewLink {
        NewLink(
            project: project.id, prefix: "go.example.com", suffixes: [suffix], kind: .custom, parameters: parameters,
            createdAt: Timestamp(seconds: 1))
    }

    func create(_ link: NewLink, audit: AuditEntry?) async throws(StoreError) -> LinkCreation {
        try await store.create(link, audit: audit)
    }
    func link(_ key: LinkKey) async throws(StoreError) -> Link? {
        counter.withLock { $0 += 1 }
        return try await store.link(key)
    }
    func links(
        of project: ProjectID, _ filter: LinkFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Link> {
        try await store.links(of: project, filter, after: cursor, limit: limit)
    }
    func change(
        _ key: LinkKey, of project: ProjectID, _ change: LinkChange, audit: AuditEntry?
    ) async throws(StoreError) -> Link? {
        try await store.change(key, of: project, change, audit: audit)
    }
    func linkCount(of prefix: String, _ kind: LinkKind, suffixLength: Int) async throws(StoreError) -> Int {
        try await store.linkCount(of: prefix, kind, suffixLength: suffixLength)
    }
    func importLinks(_ links: [NewLink]) async throws(StoreError) -> [LinkImport] {
        try await store.importLinks(links)
    }
    func exportLinks(of project: ProjectID, after id: LinkID, limit: Int) async throws(StoreError) -> [Link] {
        try await store.exportLinks(of: project, after: id, limit: limit)
    }
    var linkVersions: LinkVersions { store.linkVersions }
    func otherCommits() async throws(StoreError) -> Int64 {
        if let failure = failure.withLock({ $0 }) { throw failure }
        return try await store.otherCommits()
    }
    func add(_ counts: [LinkCount]) async throws(StoreError) { try await store.add(counts) }
    func counts(of link: LinkID, days: ClosedRange<Int>) async throws(StoreError) -> [LinkCount] {
        try await store.counts(of: link, days: days)
    }
    func links(of message: MessageID, in project: ProjectID) async throws(StoreError) -> [MessageLink] {
        try await store.links(of: message, in: project)
    }
    func forgetLinkCounts(before day: Int, limit: Int) async throws(StoreError) -> Int {
        try await store.forgetLinkCounts(before: day, limit: limit)
    }
}
