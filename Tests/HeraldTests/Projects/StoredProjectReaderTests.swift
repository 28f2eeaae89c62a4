import APNS
import Crypto
import Foundation
import GatewayAPI
import PushModel
import Signing
import Store
import Synchronization
import TestSupport
import Testing

@testable import herald

/// Projects that are stored are read as project files are.
@Suite(.timeLimit(.minutes(2)))
struct StoredProjectReaderTests {
    /// Project files with the keys that they name, and a store for them in memory.
    private struct Scene {
        let directory: TestDirectory
        let store = Versions()
        let reader: StoredProjectReader

        init(key: UInt8 = 1) throws {
            directory = try TestDirectory()
            reader = StoredProjectReader(
                seal: try ProjectSeal(key: [UInt8](repeating: key, count: 32), former: nil),
                authorities: AuthorityFiles(), environmentProxy: nil, retention: RetentionPolicy())
            for name in ["AuthKey_ABC1234567.p8", "AuthKey_SECOND1234.p8"] {
                try write(name, P256.Signing.PrivateKey().pemRepresentation)
            }
            try write("ca.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
        }

        func write(_ name: String, _ text: String) throws {
            try PrivateFile(path: directory.file(name)).write(Data(text.utf8))
        }

        /// Writes a project file and gives its path.
        @discardableResult
        func project(
            _ id: String, number: Int, key: String = "AuthKey_ABC1234567.p8", more: String = ""
        ) throws -> String {
            try write(
                "\(id).yaml",
                """
                project: \(id)
                number: \(number)
                apps:
                  - id: com.example.\(id)
                    platform: apple
                    apns:
                      team: TEAM123456
                      key: \(directory.file(key))
                      trust: \(directory.file("ca.pem"))
                \(more)
                """)
            return directory.file("\(id).yaml")
        }

        func update(by reader: StoredProjectReader? = nil) -> ProjectUpdate {
            ProjectUpdate(store: store, reader: reader ?? self.reader, credential: .command, check: { _ in })
        }

        func apply(_ paths: [String], isAll: Bool = false) async throws -> [String] {
            try await update().apply(paths, isAll: isAll).changes.map { "\($0.project) \($0.what)" }
        }

        func problems(_ paths: [String], isAll: Bool = false) async -> [String] {
            do {
                return try await apply(paths, isAll: isAll)
            } catch let error as ConfigurationError {
                return error.problems.map { $0.description.replacing(directory.path + "/", with: "") }
            } catch {
                return ["\(error)"]
            }
        }
    }

    /// Versions in memory, by the rules of a database.
    private final class Versions: ProjectStore {
        let all = Mutex<[StoredProjects]>([])

        func storedProjects() async throws(StoreError) -> StoredProjects? { all.withLock { $0.last } }
        func storedProjects(version: Int64) async throws(StoreError) -> StoredProjects? {
            all.withLock { all in all.first { $0.version.number == version } }
        }
        func projectVersions() async throws(StoreError) -> [ProjectVersion] {
            all.withLock { $0.reversed().map(\.version) }
        }
        func store(_ version: NewProjectVersion) async throws(StoreError) -> Int64? {
            all.withLock { all in
                guard version.base == all.last?.version else { return nil }
                let number = (version.base?.number ?? 0) + 1
                let head = ProjectVersion(
                    number: number, storedAt: Timestamp(milliseconds: number), credential: version.credential,
                    note: version.note, program: version.program, keyCheck: version.keyCheck)
                all.append(StoredProjects(version: head, projects: version.projects))
                return number
            }
        }
        func replaceSeals(
            of read: [ProjectVersion], with versions: [StoredProjects], by credential: CredentialUse
        ) async throws(StoreError) -> Bool {
            all.withLock { all in
                guard all.reversed().map(\.version) == read else { return false }
                all = versions.sorted { $0.version.number < $1.version.number }
                return true
            }
        }
        func note(_ standing: ProjectStanding, ofNode number: Int64) async throws(StoreError) {}
    }

    private static func text(of credential: APNSCredential) -> String {
        switch credential {
        case .providerKey(let team, let id, let key): "\(team) \(id) \(key.publicPoint)"
        case .certificate(let identity): "\(identity.certificate.topics)"
        }
    }

    /// Keys and certificates come along: without the files the projects are the same.
    @Test func aStoredProjectIsReadWithoutItsFiles() async throws {
        let scene = try Scene()
        #expect(try await scene.apply([scene.project("demo", number: 1)]) == ["demo added"])
        let before = try ProjectSet.read([ProjectFile(path: scene.directory.file("demo.yaml"))], environmentProxy: nil)
        for name in ["AuthKey_ABC1234567.p8", "ca.pem", "demo.yaml"] {
            try FileManager.default.removeItem(atPath: scene.directory.file(name))
        }
        let stored = try #require(try await scene.store.storedProjects())
        let set = try scene.reader.read(stored)
        #expect(set.projects == before.projects)
        #expect(
            set.upstreams.map { Self.text(of: $0.credential) } == before.upstreams.map { Self.text(of: $0.credential) })
        let trust = try #require(set.upstreams.first?.trustFile)
        #expect(trust != scene.directory.file("ca.pem"))
        #expect(try String(contentsOfFile: trust, encoding: .utf8).contains("BEGIN CERTIFICATE"))
        // The same file for each reading: connections stay.
        #expect(try scene.reader.read(stored).upstreams.first?.trustFile == trust)
        #expect(!PrivateFile(path: URL(filePath: trust).deletingLastPathComponent().path).isReadableByOthers)
    }

    @Test func filesReplaceTheirOwnProjectsOrAll() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        let shop = try scene.project("shop", number: 2)
        #expect(try await scene.apply([demo, shop]) == ["demo added", "shop added"])
        #expect(try await scene.apply([demo]) == [])
        #expect(scene.store.all.withLock { $0.count } == 1)
        try scene.project("demo", number: 3)
        #expect(try await scene.apply([demo]) == ["demo changed"])
        // The file stays, what is in the key that it names does not.
        try scene.write("AuthKey_ABC1234567.p8", P256.Signing.PrivateKey().pemRepresentation)
        #expect(try await scene.apply([demo]) == ["demo changed"])
        #expect(try await scene.apply([demo], isAll: true) == ["shop removed"])
        #expect(try await scene.update().rollBack(to: 2).changes.map(\.what) == ["changed", "added"])
        let remove = try await scene.update().remove(try #require(ProjectID(rawValue: "shop")))
        #expect(remove.version == 6 && remove.changes.map(\.what) == ["removed"])
        let newest = try #require(try await scene.store.storedProjects())
        #expect(try scene.reader.read(newest).projects.map(\.number) == [3])
        #expect(newest.projects.map(\.file) == [demo])
        let error = await #expect(throws: Failure.self) { try await scene.update().rollBack(to: 9) }
        #expect(error?.code == .refused)
    }

    /// What is told is what a gateway would tell of its files, and nothing is stored.
    @Test func aMistakeIsToldWithItsFieldAndNothingIsStored() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        _ = try await scene.apply([demo])
        let shop = try scene.project("shop", number: 2, key: "missing.p8", more: "colour: red")
        let told = await scene.problems([shop])
        #expect(
            told.prefix(2) == [
                "shop.yaml:8: apps[0].apns.key: no key id in the file name missing.p8; name it AuthKey_<key id>.p8 or add "
                    + "\"keyID: ABC1234567\"",
                "shop.yaml:8: apps[0].apns.key: missing.p8: no such file",
            ])
        #expect(told.dropFirst(2).map { $0.prefix(34) } == ["shop.yaml:10: colour: unknown key;"])
        try scene.project("shop", number: 1)
        #expect(
            await scene.problems([shop]) == ["shop.yaml:2: number: 1 is taken already at demo.yaml (version 1):2"])
        #expect(await scene.problems([scene.directory.file("none.yaml")]) == ["none.yaml: no such file"])
        #expect(scene.store.all.withLock { $0.count } == 1)
    }

    /// A reader with other keys.
    private static func reader(key: UInt8, former: UInt8? = nil) throws -> StoredProjectReader {
        func bytes(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: SecretsKeys.keyLength) }
        return StoredProjectReader(
            seal: try ProjectSeal(key: bytes(key), former: former.map(bytes)), keyVariable: "HERALD_SECRETS_KEY_FILE",
            authorities: AuthorityFiles(), environmentProxy: nil, retention: RetentionPolicy())
    }

    /// Nodes would take nothing of it: that is stored only when it is said that the key is a new one.
    @Test func anotherKeyStoresNothingUnlessItIsANewOne() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        let shop = try scene.project("shop", number: 2)
        _ = try await scene.apply([demo])
        _ = try await scene.apply([shop])
        let other = scene.update(by: try Self.reader(key: 2))
        let changes: [() async throws -> Void] = [
            { _ = try await other.apply([demo], isAll: false) },
            { _ = try await other.apply([demo, shop], isAll: true) },
            { _ = try await other.remove(try #require(ProjectID(rawValue: "shop"))) },
            { _ = try await other.rollBack(to: 1) },
            { _ = try await other.reseal() },
        ]
        for change in changes {
            let error = await #expect(throws: ConfigurationError.self) { try await change() }
            let text = error?.problems.first?.description ?? ""
            #expect(text.hasPrefix("HERALD_SECRETS_KEY_FILE: is another key than the one"))
            #expect(text.contains("(version 2)") && text.contains("HERALD_SECRETS_KEY_FORMER"), "\(text)")
            #expect(text.hasSuffix("herald project apply --all --new-key"))
        }
        #expect(scene.store.all.withLock { $0.count } == 2)
        #expect(try await other.apply([demo, shop], isAll: true, isNewKey: true).version == 3)
        let newest = try #require(try await scene.store.storedProjects())
        #expect(try other.reader.read(newest).projects.count == 2)
        #expect(throws: ConfigurationError.self) { try scene.reader.read(newest) }
        // What the lost key sealed stays behind.
        let back = await #expect(throws: ConfigurationError.self) { try await other.rollBack(to: 1) }
        #expect(
            back?.problems.first?.description.hasSuffix("set the key of that version as HERALD_SECRETS_KEY_FORMER")
                == true)
        let done = try await other.reseal()
        #expect(done.sealed == 1 && done.removed == 2)
        #expect(scene.store.all.withLock { $0.map(\.version.number) } == [3])
        let kept = try #require(try await scene.store.storedProjects())
        #expect(try other.reader.read(kept).projects.count == 2)
    }

    @Test func anEarlierVersionComesBackWithItsKey() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        _ = try await scene.apply([demo])
        try scene.project("demo", number: 2)
        _ = try await scene.update(by: try Self.reader(key: 2)).apply([demo], isAll: true, isNewKey: true)
        let both = scene.update(by: try Self.reader(key: 2, former: 1))
        #expect(try await both.rollBack(to: 1).version == 3)
        let newest = try #require(try await scene.store.storedProjects())
        #expect(try Self.reader(key: 2).read(newest).projects.map(\.number) == [1])
    }

    @Test func allVersionsAreSealedWithTheNewKey() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        _ = try await scene.apply([demo])
        try scene.project("demo", number: 2)
        _ = try await scene.apply([demo])
        let both = try Self.reader(key: 2, former: 1)
        let done = try await scene.update(by: both).reseal()
        #expect(done.sealed == 2 && done.removed == 0)
        let new = try Self.reader(key: 2)
        for stored in scene.store.all.withLock({ $0 }) {
            #expect(try new.read(stored).projects.map(\.number) == [stored.version.number])
            #expect(throws: ConfigurationError.self) { try scene.reader.read(stored) }
        }
    }

    /// Made with the key from before, a version is not stored after all were sealed anew.
    @Test func aChangeThatWasMadeBeforeAResealIsNotStored() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        _ = try await scene.apply([demo])
        try scene.project("demo", number: 2)
        let reseal = scene.update(by: try Self.reader(key: 2, former: 1))
        let update = ProjectUpdate(store: scene.store, reader: scene.reader, credential: .command) { _ in
            // Between reading and storing.
            await #expect(throws: Never.self) { _ = try await reseal.reseal() }
        }
        let error = await #expect(throws: Failure.self) { try await update.apply([demo], isAll: false) }
        #expect(error?.code == .unavailable)
        let newest = try #require(try await scene.store.storedProjects())
        #expect(newest.version.number == 1)
        #expect(try Self.reader(key: 2).read(newest).projects.map(\.number) == [1])
    }

    /// The same file, applied from another place, is the same project.
    @Test func whereAFileWasIsNoDifference() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        #expect(try await scene.apply([demo]) == ["demo added"])
        let copy = scene.directory.file("copy.yaml")
        try FileManager.default.copyItem(atPath: demo, toPath: copy)
        #expect(try await scene.apply([copy]) == [])
        #expect(scene.store.all.withLock { $0.count } == 1)
    }

    /// A file that is at the same path on the machine of a gateway is another one.
    @Test func aStoredCredentialHasNoTimeOfAFile() async throws {
        let scene = try Scene()
        let demo = try scene.project("demo", number: 1)
        let file = try ProjectSet.read([ProjectFile(path: demo)], environmentProxy: nil)
        #expect(file.credentials.values.joined().allSatisfy { $0.modified != nil })
        _ = try await scene.apply([demo])
        let stored = try scene.reader.read(try #require(try await scene.store.storedProjects()))
        let credentials = Array(stored.credentials.values.joined())
        #expect(credentials.map(\.modified) == [nil])
        #expect(credentials.map(\.file) == file.credentials.values.joined().map(\.file))
    }

    /// Who can write to the database changes where pushes go, and is found out.
    @Test func aTextThatWasChangedInTheDatabaseIsNotRead() async throws {
        let scene = try Scene()
        _ = try await scene.apply([scene.project("demo", number: 1)])
        var stored = try #require(try await scene.store.storedProjects())
        stored.projects[0].text += "\nweight: 2\n"
        let error = #expect(throws: ConfigurationError.self) { try scene.reader.read(stored) }
        #expect(error?.description.contains("project demo is not as it was stored") == true)
    }
}
