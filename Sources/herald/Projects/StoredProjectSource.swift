import Logging
import PushModel
import Store

/// The projects of a gateway that has them from the database that it shares with others.
struct StoredProjectSource: Sendable {
    let store: any ProjectStore
    let reader: StoredProjectReader
    let state = StoredProjectsState()

    /// The newest version, which is in force from now on; `nil`: none is stored.
    ///
    /// - Throws: ``StoreError``, or ``Failure`` `.temporary`: it can't be taken here; another version, or program, may do.
    func begin() async throws -> ProjectSet? {
        guard let stored = try await store.storedProjects() else { return nil }
        do throws(ConfigurationError) {
            let projects = try reader.read(stored)
            state.take(stored.version)
            return projects
        } catch {
            throw Failure(.temporary, error.description)
        }
    }

    /// Has others know what this gateway, as a node of the store, has in force.
    func tell(of node: Int64) async throws(StoreError) {
        guard let standing = state.untold(by: node) else { return }
        try await store.note(standing, ofNode: node)
        state.noteTold(standing, by: node)
    }
}

/// What a gateway starts with: its projects, and its store if they are in it.
struct StartingProjects {
    /// The store; `nil`: it is not open yet.
    let opened: OpenedStore?
    /// Where newer versions come from; `nil`: projects are files.
    let source: StoredProjectSource?
    let projects: ProjectSet

    /// Reads the projects of a configuration: the files before the store is touched, stored ones from it.
    init(_ configuration: GatewayConfiguration, _ holder: GatewayHolder, logger: Logger) async throws {
        guard configuration.areProjectsStored else {
            (opened, source) = (nil, nil)
            projects = try ProjectSet.read(
                directory: configuration.projectsDirectory, configuredAt: configuration.place(of: .projects),
                environmentProxy: configuration.environmentProxy, retention: configuration.retention.messages)
            return
        }
        // Before the store: a key that is missing is told at once.
        let reader = try configuration.storedProjectReader()
        let opened = try await configuration.openStoreWithNodes(as: .gateway, holder: holder, logger: logger)
        do {
            let source = StoredProjectSource(store: try opened.projectStore(), reader: reader)
            self.projects = try await source.begin() ?? configuration.noProjects
            (self.opened, self.source) = (opened, source)
        } catch {
            try opened.store.close()
            throw error
        }
    }
}
