import Logging
import PostgresStorage
import PushModel
import SQLStorage
import Store
import TestSupport
import Testing

/// The projects that gateways have in their database.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct ProjectTableTests {
    private static let logger = Logger(label: "test")

    /// A store on a database of its own.
    private struct Scene {
        let store: any AdministeredStore
        let nodes: PostgresNodes
        let database: String

        static func with(_ body: (Scene) async throws -> Void) async throws {
            let database = try await SampleDatabase.make()
            let store = try PostgresStore.open(url: database, role: .gateway, logger: logger)
            let nodes = try PostgresStore.nodes(of: store, url: database, logger: logger)
            try await body(Scene(store: store, nodes: nodes, database: database))
            try store.close()
            try await PostgreSQLServer.shared().dropDatabase(database)
        }

        func store(_ projects: [StoredProject], on base: Int64) async throws -> Int64? {
            try await store(projects, on: try await nodes.storedProjects(version: base)?.version)
        }

        func store(_ projects: [StoredProject], on base: ProjectVersion?) async throws -> Int64? {
            let changes = Dictionary(
                uniqueKeysWithValues: projects.map {
                    ($0.id, NewProjectVersion.Change(.projectApplied, ["change": "added"]))
                })
            return try await nodes.store(
                NewProjectVersion(
                    projects: projects, base: base, note: "apply \(base?.number ?? 0)", program: "1.0", keyCheck: [9],
                    credential: CredentialUse(id: "command", name: "ada"), changes: changes))
        }
    }

    private static func project(_ id: String, _ text: String = "text") throws -> StoredProject {
        StoredProject(id: try #require(ProjectID(rawValue: id)), file: "\(id).yaml", text: text, sealed: [1, 0, 2])
    }

    @Test func theNewestVersionIsRead() async throws {
        try await Scene.with { scene in
            #expect(try await scene.nodes.storedProjects() == nil)
            let first = [try Self.project("a"), try Self.project("b")]
            #expect(try await scene.store(first, on: 0) == 1)
            #expect(try await scene.store([try Self.project("b", "other")], on: 1) == 2)
            let newest = try #require(try await scene.nodes.storedProjects())
            #expect(newest.projects == [try Self.project("b", "other")])
            #expect(newest.version.number == 2 && newest.version.note == "apply 1" && newest.version.keyCheck == [9])
            #expect(newest.version.credential == CredentialUse(id: "command", name: "ada"))
            #expect(try await scene.nodes.storedProjects(version: 1)?.projects == first)
            #expect(try await scene.nodes.storedProjects(version: 3) == nil)
            #expect(try await scene.nodes.projectVersions().map(\.number) == [2, 1])
        }
    }

    /// Of two that begin from one version the second stores nothing.
    @Test func aVersionOfAnotherBaseIsNotStored() async throws {
        try await Scene.with { scene in
            #expect(try await scene.store([try Self.project("a")], on: 0) == 1)
            #expect(try await scene.store([try Self.project("b")], on: 0) == nil)
            #expect(try await scene.nodes.storedProjects()?.projects.map(\.id.rawValue) == ["a"])
            let entries = try await scene.store.auditEntries(AuditFilter(), after: nil, limit: 10).elements
            #expect(entries.map(\.project.rawValue) == ["a"])
            #expect(entries.first?.action == .projectApplied)
            #expect(entries.first?.details == ["change": "added", "version": "1"])
            #expect(entries.first?.credential.name == "ada")
        }
    }

    @Test func olderVersionsGo() async throws {
        try await Scene.with { scene in
            for base in 0..<(Int64(ProjectVersion.kept) + 2) {
                _ = try await scene.store([try Self.project("a")], on: base)
            }
            let numbers = try await scene.nodes.projectVersions().map(\.number)
            #expect(numbers.count == ProjectVersion.kept && numbers.last == 3)
            let rows = try await PostgreSQLServer.shared().execute(
                "SELECT count(*) FROM stored_project", in: scene.database)
            #expect(rows == ["\(ProjectVersion.kept)"])
        }
    }

    @Test func sealsAreReplacedOfAllVersionsOrNone() async throws {
        try await Scene.with { scene in
            _ = try await scene.store([try Self.project("a")], on: 0)
            var first = try #require(try await scene.nodes.storedProjects())
            first.version.keyCheck = [7]
            first.projects[0].sealed = [8]
            _ = try await scene.store([try Self.project("a", "newer")], on: 1)
            let all = try await scene.nodes.projectVersions()
            #expect(try await !scene.nodes.replaceSeals(of: [all[1]], with: [first], by: .gateway))
            #expect(try await scene.nodes.storedProjects(version: 1)?.version.keyCheck == [9])
            let second = try #require(try await scene.nodes.storedProjects())
            #expect(try await scene.nodes.replaceSeals(of: all, with: [second, first], by: .gateway))
            #expect(try await scene.nodes.storedProjects(version: 1) == first)
            #expect(try await scene.nodes.storedProjects() == second)
            // As they were before.
            #expect(try await !scene.nodes.replaceSeals(of: all, with: [second], by: .gateway))
            #expect(try await scene.nodes.projectVersions().map(\.number) == [2, 1])
            let now = try await scene.nodes.projectVersions()
            #expect(try await scene.nodes.replaceSeals(of: now, with: [second], by: .gateway))
            #expect(try await scene.nodes.projectVersions() == [second.version])
        }
    }

    /// What was made before all was sealed anew is sealed with the key from before, and is not stored.
    @Test func aVersionThatWasMadeBeforeAResealIsNotStored() async throws {
        try await Scene.with { scene in
            _ = try await scene.store([try Self.project("a")], on: 0)
            var first = try #require(try await scene.nodes.storedProjects())
            let base = first.version
            first.version.keyCheck = [7]
            _ = try await scene.nodes.catchUp()
            #expect(try await scene.nodes.replaceSeals(of: [base], with: [first], by: .gateway))
            #expect(try await scene.nodes.catchUp().contains(.storedProjects))
            #expect(try await scene.store([try Self.project("b")], on: base) == nil)
            #expect(try await scene.nodes.storedProjects() == first)
            #expect(try await scene.store([try Self.project("b")], on: first.version) == 2)
        }
    }

    @Test func nodesHearOfItAndSayWhatTheyHave() async throws {
        try await Scene.with { scene in
            _ = try await scene.nodes.catchUp()
            #expect(try await scene.nodes.catchUp() == [])
            _ = try await scene.store([try Self.project("a")], on: 0)
            #expect(try await scene.nodes.catchUp().contains(.storedProjects))
            #expect(try await !scene.nodes.catchUp().contains(.storedProjects))
            let number = try await scene.nodes.enter("a:1", version: "1.0", address: nil)
            #expect(try await scene.nodes.nodes().map(\.projects) == [nil])
            let standing = ProjectStanding(version: 1, problem: "version 2: can't be read")
            try await scene.nodes.note(standing, ofNode: number)
            #expect(try await scene.nodes.nodes().map(\.projects) == [standing])
            try await scene.nodes.note(ProjectStanding(version: 2), ofNode: number)
            #expect(try await scene.nodes.nodes().map(\.projects) == [ProjectStanding(version: 2)])
        }
    }
}
