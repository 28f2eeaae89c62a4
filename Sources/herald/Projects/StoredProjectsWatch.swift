import Delivery
import Logging
import ServiceLifecycle
import Store

/// Puts each newer version of the stored projects in force, whole or not at all: what can't be taken is told in the log, in
/// metrics and to other nodes, and the version before stays.
struct StoredProjectsWatch: Service {
    let source: StoredProjectSource
    let reloader: ProjectReloader
    let logger: Logger

    /// After the store could not be asked.
    private static let retry: Duration = .seconds(2)
    /// Without a word of the store, which tells of each change.
    private static let rest: Duration = .seconds(60)

    /// Works until graceful shutdown or cancellation.
    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let isAnswered = await look()
                await source.state.maybeNewer.wait(
                    atMost: isAnswered ? Self.rest : Self.retry, on: ContinuousClock())
            }
        }
    }

    /// - Returns: whether the store answered.
    private func look() async -> Bool {
        do throws(StoreError) {
            guard let stored = try await source.store.storedProjects() else { return true }
            if source.state.isNew(stored.version) { take(stored) } else { source.state.confirm(stored.version) }
            return true
        } catch {
            if !Task.isCancelled {
                logger.warning("the stored projects can't be asked for", metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    private func take(_ stored: StoredProjects) {
        let number = stored.version.number
        do throws(ConfigurationError) {
            let projects = try source.reader.read(stored)
            try reloader.use(projects)
            source.state.take(stored.version)
            logger.notice(
                "stored projects taken over",
                metadata: ["version": "\(number)", "projects": "\(projects.configurations.count)"])
        } catch {
            let isInForce = source.state.standing.version == number
            source.state.refuse(stored.version, error.problems.first?.description ?? "")
            for problem in error.problems {
                logger.error(
                    isInForce
                        ? "stored projects were changed or sealed anew, and can't be read; what is in force stays"
                        : "stored projects not taken over, the version before stays in force",
                    metadata: ["version": "\(number)", "problem": "\(problem)"])
            }
        }
    }
}
