import Logging
import PushModel

/// Reads the project files again and puts them in force: all of them, or none when one is wrong. A directory without any
/// is wrong too: a deployment has emptied it and not filled it yet.
struct ProjectReloader: Sendable {
    private let directory: String
    private let place: ConfigurationPlace
    private let environmentProxy: EnvironmentProxy?
    private let retention: RetentionPolicy
    private let useUpstreams: @Sendable (ProjectSet) throws(ConfigurationError) -> Void
    private let useProjects: @Sendable ([Project]) -> Void
    private let useCertificates: @Sendable ([WatchedCertificate]) -> Void
    private let logger: Logger

    /// Prepares a reloader.
    ///
    /// - Parameters:
    ///   - retention: the gateway's, for fields that a project file does not name.
    ///   - useUpstreams: puts the ways to the push services in force, or changes nothing and throws.
    ///   - useProjects: puts the projects in force; called second, so that no message is accepted for an app that has
    ///     no way yet.
    ///   - useCertificates: takes note of the certificates in force.
    init(
        directory: String, configuredAt place: ConfigurationPlace, environmentProxy: EnvironmentProxy? = nil,
        retention: RetentionPolicy = RetentionPolicy(),
        useUpstreams: @escaping @Sendable (ProjectSet) throws(ConfigurationError) -> Void,
        useProjects: @escaping @Sendable ([Project]) -> Void,
        useCertificates: @escaping @Sendable ([WatchedCertificate]) -> Void, logger: Logger
    ) {
        self.directory = directory
        self.place = place
        self.environmentProxy = environmentProxy
        self.retention = retention
        self.useUpstreams = useUpstreams
        self.useProjects = useProjects
        self.useCertificates = useCertificates
        self.logger = logger
    }

    /// Reads and replaces; `false` when the old state stays in force. Every problem is logged in a line of its own.
    @discardableResult
    func reload() -> Bool {
        do throws(ConfigurationError) {
            let projects = try ProjectSet.read(
                directory: directory, configuredAt: place, environmentProxy: environmentProxy, retention: retention)
            guard !projects.projects.isEmpty else {
                let text = "no project files (*.yaml) in \(directory); to serve none, stop the gateway"
                throw ConfigurationError(problems: [ConfigurationProblem(place, field: "projects", text)])
            }
            try use(projects)
            logger.notice("project files read again", metadata: ["projects": "\(projects.projects.count)"])
            return true
        } catch {
            for problem in error.problems {
                logger.error(
                    "project files not taken over, the old state stays in force", metadata: ["problem": "\(problem)"])
            }
            return false
        }
    }

    /// Puts projects in force, or changes nothing and throws.
    func use(_ projects: ProjectSet) throws(ConfigurationError) {
        try useUpstreams(projects)
        useProjects(projects.projects)
        Self.log(projects.warnings, to: logger)
        useCertificates(projects.certificates)
    }

    /// Logs what works but should be looked at.
    static func log(_ warnings: [ConfigurationProblem], to logger: Logger) {
        for warning in warnings {
            logger.warning("project files", metadata: ["problem": "\(warning)"])
        }
    }
}
