package import PushModel
import Synchronization

/// The projects as configured now; replaced as a whole when the configuration is read again.
package final class ProjectDirectory: Sendable {
    private struct Index {
        var byID: [ProjectID: Project]
        var byNumber: [Int64: Project]

        init(_ projects: [Project]) {
            byID = Dictionary(projects.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            byNumber = Dictionary(projects.map { ($0.number, $0) }, uniquingKeysWith: { _, last in last })
        }
    }

    private let index: Mutex<Index>

    /// Starts with `projects`.
    package init(_ projects: [Project]) {
        index = Mutex(Index(projects))
    }

    /// The project with this id.
    package func project(_ id: ProjectID) -> Project? {
        index.withLock { $0.byID[id] }
    }

    /// The project that a path names by id or by number.
    package func project(named name: String) -> Project? {
        index.withLock { index in
            ProjectID(rawValue: name).flatMap { index.byID[$0] } ?? Int64(name).flatMap { index.byNumber[$0] }
        }
    }

    /// All projects by id.
    package var projects: [Project] {
        index.withLock { $0.byID.values.sorted { $0.id.rawValue < $1.id.rawValue } }
    }

    /// Replaces all projects.
    package func replace(with projects: [Project]) {
        index.withLock { $0 = Index(projects) }
    }
}
