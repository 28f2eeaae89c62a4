import Foundation
import PushModel
import Signing
import Store

/// Makes a new version of the stored projects: checked as a gateway checks its configuration, then stored whole or not at all.
struct ProjectUpdate {
    /// What was stored.
    struct Result {
        /// The new version; `nil`: all is as it was, and nothing was stored.
        var version: Int64?
        /// What became of projects, those that stay as they are left out.
        var changes: [(project: ProjectID, what: String)]
        /// What works but should be looked at.
        var warnings: [ConfigurationProblem]
    }

    let store: any ProjectStore
    let reader: StoredProjectReader
    let credential: CredentialUse
    /// Whether push services and links can be served so; checks nothing that ``ProjectSet/read(_:environmentProxy:)`` does.
    let check: (ProjectSet) async throws(ConfigurationError) -> Void

    /// A project file with the files that it names, which are known when it has been read.
    private struct File {
        let file: ProjectFile
        /// What it is called where it is stored.
        let name: String
        let named: () -> [String: [UInt8]]
    }

    /// What the version is to be made of.
    private struct Plan {
        var base: StoredProjects?
        var files: [File]
        var note: String
        /// Whether the key may be another one than that of ``base``, which is lost.
        var isNewKey = false
        /// More for the audit log.
        var details: [String: String] = [:]
    }

    /// Characters of what history shows of a change.
    private static let noteLimit = 200

    // MARK: Changes

    /// Adds and replaces projects by files.
    ///
    /// - Parameters:
    ///   - paths: project files, and directories with such.
    ///   - isAll: whether projects go that no file is of.
    ///   - isNewKey: whether what is stored may be sealed with a key that is lost; only with `isAll`.
    func apply(_ paths: [String], isAll: Bool, isNewKey: Bool = false) async throws -> Result {
        let files = try Self.files(paths).map(recorded)
        let base = try await store.storedProjects()
        let new = Set(files.compactMap { Self.declaredID(of: $0.file) })
        var kept: [File] = []
        if let base, !isAll { kept = try stored(base) { !new.contains($0) } }
        let note = "apply " + paths.joined(separator: " ")
        return try await store(
            Plan(base: base, files: kept + files, note: String(note.prefix(Self.noteLimit)), isNewKey: isNewKey))
    }

    /// Removes a project.
    func remove(_ project: ProjectID) async throws -> Result {
        guard let base = try await store.storedProjects(), base.projects.contains(where: { $0.id == project }) else {
            throw Failure(.refused, "no project \(project) in the database; see herald project list")
        }
        return try await store(
            Plan(base: base, files: try stored(base) { $0 != project }, note: "remove \(project)"))
    }

    /// Stores an earlier version once more.
    func rollBack(to number: Int64) async throws -> Result {
        guard let earlier = try await store.storedProjects(version: number) else {
            throw Failure(.refused, "no version \(number) of the projects is kept; see herald project history")
        }
        let base = try await store.storedProjects()
        // First: the key of an earlier version helps only who has that of the newest.
        if let base { try reader.checkKey(of: base.version) }
        try reader.checkKey(
            of: earlier.version, remedy: "set the key of that version as \(SecretsKeys.formerVariable)")
        return try await store(
            Plan(
                base: base, files: try stored(earlier) { _ in true }, note: "rollback \(number)",
                details: ["from": String(number)]))
    }

    /// Seals all versions that are kept with the key of now, and removes those of a key that is lost. The newest has to open.
    ///
    /// - Returns: how many were sealed, and how many removed.
    func reseal() async throws -> (sealed: Int, removed: Int) {
        let all = try await store.projectVersions()
        if let newest = all.first { try reader.checkKey(of: newest) }
        var versions: [StoredProjects] = []
        for version in all where reader.seal.fits(version.keyCheck) {
            guard var stored = try await store.storedProjects(version: version.number) else { throw Self.overtaken }
            let named = try reader.files(of: stored).map(\.named)
            stored.projects = try zip(stored.projects, named).map { project, files in
                try reader.seal.sealing(files, of: project)
            }
            stored.version.keyCheck = try reader.seal.keyCheck()
            versions.append(stored)
        }
        guard try await store.replaceSeals(of: all, with: versions, by: credential) else { throw Self.overtaken }
        return (versions.count, all.count - versions.count)
    }

    private static let overtaken = Failure(
        .unavailable,
        "the projects were stored or sealed by another command meanwhile, and nothing of this one was; run it again")

    // MARK: Files

    /// The files that paths name.
    private static func files(_ paths: [String]) throws(ConfigurationError) -> [String] {
        var files: [String] = []
        for path in paths {
            let place = ConfigurationPlace(source: path, line: nil)
            switch PathKind(of: path) {
            case .missing: throw ConfigurationError(problems: [ConfigurationProblem(place, "no such file")])
            case .file: files.append(path)
            case .directory:
                let found = try ProjectSet.files(in: path, configuredAt: place)
                guard !found.isEmpty else {
                    throw ConfigurationError(problems: [ConfigurationProblem(place, "no project files (*.yaml) in it")])
                }
                files += found
            }
        }
        return files
    }

    /// A file of this machine, read once: what is checked is what is stored.
    private func recorded(_ path: String) throws(ConfigurationError) -> File {
        let record = FileRecord()
        do {
            let text = try ConfigurationFile.text(of: path, in: nil)
            let file = ProjectFile(
                path: path, text: text, files: FileSource(recordingIn: record), retention: reader.retention)
            return File(file: file, name: path) { record.files }
        } catch {
            let place = ConfigurationPlace(source: path, line: nil)
            throw ConfigurationError(problems: [ConfigurationProblem(place, error.text)])
        }
    }

    /// The files of stored projects.
    private func stored(
        _ stored: StoredProjects, where isMeant: (ProjectID) -> Bool
    ) throws(ConfigurationError) -> [File] {
        try zip(stored.projects, reader.files(of: stored)).filter { isMeant($0.0.id) }.map { project, file in
            File(file: file.file, name: project.file) { file.named }
        }
    }

    private static func declaredID(of file: ProjectFile) -> ProjectID? {
        var ignored: [ConfigurationProblem] = []
        return ConfigurationFile(path: file.path, content: file.text).section(purpose: "", problems: &ignored)?
            .text("project", problems: &ignored).flatMap(ProjectID.init(rawValue:))
    }

    // MARK: Storing

    private func store(_ plan: Plan) async throws -> Result {
        // Nodes that have the key of the newest version would take nothing that another one seals.
        if let base = plan.base, !plan.isNewKey { try reader.checkKey(of: base.version) }
        let set = try ProjectSet.read(plan.files.map(\.file), environmentProxy: reader.environmentProxy)
        try await check(set)
        let before = Dictionary(uniqueKeysWithValues: (plan.base?.projects ?? []).map { ($0.id, $0) })
        var (projects, changes): ([StoredProject], [ProjectID: NewProjectVersion.Change]) = ([], [:])
        for (configuration, file) in zip(set.configurations, plan.files) {
            let project = try seal(configuration.id, file)
            projects.append(project)
            guard let what = try change(of: project, file.named(), from: before[project.id]) else { continue }
            let details = plan.details.merging(["change": what, "file": project.file]) { own, _ in own }
            changes[project.id] = NewProjectVersion.Change(.projectApplied, details)
        }
        for id in before.keys where !projects.contains(where: { $0.id == id }) {
            changes[id] = NewProjectVersion.Change(.projectRemoved, plan.details)
        }
        var result = Result(
            version: nil,
            changes: changes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                ($0.key, $0.value.details["change"] ?? "removed")
            }, warnings: set.warnings)
        guard !changes.isEmpty || plan.base == nil else { return result }
        result.version = try await store.store(
            NewProjectVersion(
                projects: projects.sorted { $0.id.rawValue < $1.id.rawValue }, base: plan.base?.version,
                note: plan.note, program: HeraldVersion.current, keyCheck: try reader.seal.keyCheck(),
                credential: credential, changes: changes))
        guard result.version != nil else { throw Self.overtaken }
        return result
    }

    /// The project as it is to be stored.
    private func seal(_ id: ProjectID, _ file: File) throws -> StoredProject {
        let (text, named) = (file.file.text ?? "", file.named())
        let bytes = named.values.reduce(text.utf8.count) { $0 + $1.count }
        guard bytes <= ProjectSeal.limitBytes else {
            let place = ConfigurationPlace(source: file.file.path, line: nil)
            let problem = "the file and those that it names have \(bytes) bytes; \(ProjectSeal.limitBytes) are the most"
            throw ConfigurationError(problems: [ConfigurationProblem(place, problem)])
        }
        return try reader.seal.sealing(named, of: StoredProject(id: id, file: file.name, text: text, sealed: []))
    }

    /// What is different from the project before; `nil`: nothing. Where its file was when it was applied does not count.
    private func change(
        of project: StoredProject, _ named: [String: [UInt8]], from before: StoredProject?
    ) throws -> String? {
        guard let before else { return "added" }
        guard before.text == project.text else { return "changed" }
        do {
            return try reader.seal.files(of: before) == named ? nil : "changed"
        } catch {
            // Sealed with a key that is lost: it is stored anew.
            return "changed"
        }
    }
}
