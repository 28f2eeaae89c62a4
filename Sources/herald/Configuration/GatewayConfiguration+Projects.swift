import PushModel
import Store

/// Where the projects of a configuration are.
extension GatewayConfiguration {
    /// The word of `projects` for projects that are in the database. A directory of this name is `./database`.
    static let storedProjectsWord = "database"

    /// Whether the projects are in the database.
    var areProjectsStored: Bool { projectsDirectory == Self.storedProjectsWord }

    /// Reads stored projects with the keys of the environment.
    ///
    /// - Throws: ``ConfigurationError`` that names the variable of a key.
    func storedProjectReader() throws(ConfigurationError) -> StoredProjectReader {
        StoredProjectReader(
            seal: try secretsKeys.seal(), keyVariable: secretsKeys.keyVariable, authorities: AuthorityFiles(),
            environmentProxy: environmentProxy, retention: retention.messages)
    }

    /// The projects of a database in which none were stored.
    var noProjects: ProjectSet {
        let text = "no projects in the database yet; herald project apply FILE stores them; nothing can be sent yet"
        return ProjectSet(
            configurations: [], warnings: [problem(.projects, text)], environmentProxy: environmentProxy)
    }

    /// Reads the projects for a command, wherever they are.
    func readProjects() async throws(Failure) -> ProjectSet {
        let stored = areProjectsStored ? try await storedProjects() : nil
        do throws(ConfigurationError) {
            guard areProjectsStored else {
                return try ProjectSet.read(
                    directory: projectsDirectory, configuredAt: place(of: .projects),
                    environmentProxy: environmentProxy, retention: retention.messages)
            }
            let reader = try storedProjectReader()
            guard let stored else { return noProjects }
            var projects = try reader.read(stored)
            projects.authorities = reader.authorities
            return projects
        } catch {
            throw error.failure
        }
    }

    /// The ids of the projects, whatever else is wrong with them, and what has them.
    func declaredProjects() async throws(Failure) -> (ids: [ProjectID], place: String) {
        guard !areProjectsStored else {
            return (try await storedProjects()?.projects.map(\.id) ?? [], "the database")
        }
        do throws(ConfigurationError) {
            let ids = try ProjectSet.declaredIDs(directory: projectsDirectory, configuredAt: place(of: .projects))
            return (ids, projectsDirectory)
        } catch {
            throw error.failure
        }
    }

    /// The newest version in the database.
    private func storedProjects() async throws(Failure) -> StoredProjects? {
        try await withProjectStore { store throws(StoreError) in try await store.storedProjects() }
    }

    /// Opens the database for a command about the projects in it.
    func withProjectStore<Result: Sendable>(
        _ body: (any ProjectStore) async throws(StoreError) -> Result
    ) async throws(Failure) -> Result {
        do throws(StoreError) {
            let opened = try await openStoreWithNodes(as: .command)
            let result = try await body(try opened.projectStore())
            try opened.store.close()
            return result
        } catch {
            throw Failure(store: error, in: self)
        }
    }
}

extension OpenedStore {
    /// The projects that are stored in it.
    func projectStore() throws(StoreError) -> any ProjectStore {
        guard let projects else { throw StoreError(.failed, "This store keeps no projects.") }
        return projects
    }
}
