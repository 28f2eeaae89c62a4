package import PushModel
package import Store

extension Housekeeper.Chore {
    /// Steps of retention take at most a few milliseconds of the writer; with this rest others have it most of the time.
    private static let retentionRest: Duration = .milliseconds(15)

    /// Removes what is past its time of messages, part by part.
    ///
    /// - Parameter rules: how long each project keeps its messages, as configured when a step begins.
    package static func retention(
        of store: any StoreRetention, by rules: @escaping @Sendable () -> RetentionRules
    ) -> [Self] {
        RetentionPart.allCases.map { part in
            Self(part.rawValue, rest: retentionRest) { now throws(StoreError) in
                try await store.remove(part, by: rules(), at: now)
            }
        }
    }

    /// Sees to it that no file holds what the chores before it removed, also of a gateway that has nothing else to write.
    package static func files(of store: any StoreRetention) -> Self {
        Self("files", rest: retentionRest) { _ throws(StoreError) in
            // What stood in the way is the matter of `FileCleaner`.
            _ = try await store.cleanFiles()
            return RetentionProgress(count: 0, isDone: true)
        }
    }
}

extension ProjectDirectory {
    /// How long the projects keep their messages now.
    ///
    /// - Parameter standard: of projects that are not configured any more.
    package func retentionRules(standard: RetentionPolicy) -> RetentionRules {
        RetentionRules(
            standard: standard,
            byProject: Dictionary(projects.map { ($0.id, $0.retention) }, uniquingKeysWith: { _, last in last }))
    }
}
