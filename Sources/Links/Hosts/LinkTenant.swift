package import PushModel

/// A project that has links, with its policy read.
package struct LinkTenant: Sendable {
    /// Stands for the settings of one moment: what was worked out under them is kept beside it.
    final class Version: Sendable {}

    /// That of this one.
    let version = Version()
    /// The project.
    package let project: Project
    /// Its links as configured.
    package let settings: LinkSettings
    /// Where its links may lead.
    package let policy: LinkPolicy

    /// Reads a project's policy; `nil`: it has no links.
    ///
    /// - Throws: the problem of its targets or patterns.
    package init?(_ project: Project) throws(LinkProblem) {
        guard let settings = project.links else { return nil }
        self.project = project
        self.settings = settings
        policy = try LinkPolicy(settings)
    }

    /// Judges links that are made.
    package var check: LinkCheck { LinkCheck(project: project, policy: policy) }

    /// The prefix that a URL is, whatever its scheme and port; `nil`: the project has no such prefix.
    package func prefix(_ url: String) -> LinkPrefix? {
        LinkPrefix(rawValue: url).flatMap { prefix(named: $0.name) }
    }

    /// The prefix with this ``LinkPrefix/name``.
    package func prefix(named name: String) -> LinkPrefix? { settings.prefixes.first { $0.name == name } }
}
