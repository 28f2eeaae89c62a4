package import Logging
import PushModel
import ServiceLifecycle
package import Store

/// Holds the push service's lists of channels against the store's once a day, so that a channel that was lost is known
/// before somebody publishes to it.
package struct ChannelWatch: Service {
    private static let interval: Duration = .seconds(86_400)
    /// The first look waits so long after the start: a gateway that is restarted again and again asks nothing.
    private static let delay: Duration = .seconds(300)

    private let controller: ChannelController
    private let store: any ChannelStore
    private let projects: ProjectDirectory
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Prepares a watch.
    package init(
        _ controller: ChannelController, store: any ChannelStore, projects: ProjectDirectory,
        clock: any Clock<Duration>, logger: Logger
    ) {
        self.controller = controller
        self.store = store
        self.projects = projects
        self.clock = clock
        self.logger = logger
    }

    /// Works until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                try await clock.sleep(for: Self.delay)
                while true {
                    await look()
                    try await clock.sleep(for: Self.interval)
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
    }

    /// Looks at the channels of all projects once. What can't be asked is asked the next day.
    package func look() async {
        for project in projects.projects {
            do {
                let homes = try await store.channelHomes(of: project.id)
                for home in homes where !Task.isCancelled { await look(at: home) }
            } catch {
                logger.warning(
                    "the channels of a project can't be read",
                    metadata: ["project.id": "\(project.id)", "error": "\(error)"])
            }
        }
    }

    /// An app that can't be asked keeps no other from being looked at.
    private func look(at home: ChannelHome) async {
        var metadata: Logger.Metadata = [
            "project.id": "\(home.project)", "app": "\(home.app)", "environment": "\(home.environment.rawValue)",
        ]
        do {
            let found = try await controller.reconcile(home)
            guard !found.unknown.isEmpty else { return }
            metadata["count"] = "\(found.unknown.count)"
            logger.notice("the push service has channels that have no name here", metadata: metadata)
        } catch {
            metadata["error"] = "\(error)"
            logger.warning("the channels of an app can't be compared", metadata: metadata)
        }
    }
}
