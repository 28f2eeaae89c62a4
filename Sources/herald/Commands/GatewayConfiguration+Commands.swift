import Foundation
import PushModel
import Store

/// What commands that work on the store itself need of the configuration.
extension GatewayConfiguration {
    /// Refuses a project that is not declared.
    func check(_ project: ProjectID) async throws(Failure) {
        let (known, place) = try await declaredProjects()
        guard !known.contains(project) else { return }
        let names = known.map(\.rawValue).sorted()
        let hint =
            Spelling.closest(to: project.rawValue, among: names).map { "did you mean \($0)?" }
            ?? (names.isEmpty ? "there are none" : "there are \(names.joined(separator: ", "))")
        throw Failure(.configuration, "no project \(project) in \(place); \(hint)")
    }

    /// Opens the store for a command.
    ///
    /// - Parameter isMade: whether a store that is not there is made.
    func withStore<Result>(
        isMade: Bool = false, _ body: (any AdministeredStore) async throws(StoreError) -> Result
    ) async throws(Failure) -> Result {
        if !isMade { try checkForStore() }
        do {
            let store = try await openStore(as: .command)
            let result = try await body(store)
            try store.close()
            return result
        } catch {
            throw Failure(store: error, in: self)
        }
    }

    /// Refuses to go on where there is no store: a path that is wrong would lead to a new one, with nothing in it.
    func checkForStore() throws(Failure) {
        guard !hasStore else { return }
        throw Failure(
            .configuration,
            problem(
                .data,
                "there is no store in \(dataDirectory); name the gateway's directory (a path without / in "
                    + "front begins where the command runs), or start the gateway once, which makes it"
            ).description)
    }

    /// A project, its links and the prefixes of other projects.
    func links(of id: ProjectID) async throws(Failure) -> (Project, LinkSettings, others: [LinkPrefix]) {
        try await check(id)
        let projects = try await readProjects().projects
        guard let project = projects.first(where: { $0.id == id }), let settings = project.links else {
            throw Failure(
                .configuration,
                "--project \(id): the project has no links; add links.prefixes to its file")
        }
        let others = projects.filter { $0.id != id }.flatMap { $0.links?.prefixes ?? [] }
        return (project, settings, others)
    }
}
