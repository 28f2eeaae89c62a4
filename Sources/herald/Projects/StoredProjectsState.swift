import Delivery
import Store
import Synchronization

/// Which version of the stored projects this gateway has in force, and which newer one it can't take. Safe to share.
final class StoredProjectsState: Sendable {
    private struct State {
        var standing = ProjectStanding(version: 0)
        /// The version that is in force, as it was read; `nil`: none yet.
        var current: ProjectVersion?
        /// The version that ``standing``'s problem is about, as it was read.
        var refused: ProjectVersion?
        /// The node that said something, and what.
        var told: (node: Int64, standing: ProjectStanding)?
    }

    private let state = Mutex(State())
    private let standingChanged = Mutex<(@Sendable () -> Void)?>(nil)

    /// There is perhaps a newer version.
    let maybeNewer = AutoResetEvent()

    /// Nothing is in force yet.
    init() {}

    /// What this gateway says of the stored projects.
    var standing: ProjectStanding { state.withLock { $0.standing } }

    /// The newest version when it can't be taken; `nil`: what is in force is the newest. It is the one in force when that was
    /// sealed with a key that this gateway has not.
    var refusedVersion: Int64? { state.withLock { $0.refused?.number } }

    /// Sets what is called when ``standing`` changed; without a lock held.
    func onChange(_ body: @escaping @Sendable () -> Void) {
        standingChanged.withLock { $0 = body }
    }

    /// Whether a version is neither in force nor refused. One that was sealed anew is new: another key may be needed for it.
    func isNew(_ version: ProjectVersion) -> Bool {
        state.withLock { $0.current != version && $0.refused != version }
    }

    /// A version is in force.
    func take(_ version: ProjectVersion) {
        change { state in
            state.standing = ProjectStanding(version: version.number)
            state.current = version
            state.refused = nil
        }
    }

    /// A version can't be taken.
    func refuse(_ version: ProjectVersion, _ problem: String) {
        change { state in
            state.standing.problem = "version \(version.number): \(problem)"
            state.refused = version
        }
    }

    /// A version is the newest: when it is in force, there is no problem any more, as after a database was restored.
    func confirm(_ version: ProjectVersion) {
        let isSolved = state.withLock { $0.current == version && $0.standing.problem != nil }
        if isSolved { take(version) }
    }

    /// The version that was refused is to be tried again.
    func tryAgain() {
        state.withLock { $0.refused = nil }
        maybeNewer.raise()
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        standingChanged.withLock { $0 }?()
    }

    // MARK: What others know

    /// What a node has not said yet; `nil`: it has said it.
    func untold(by node: Int64) -> ProjectStanding? {
        state.withLock { state in
            if let told = state.told, told.node == node, told.standing == state.standing { return nil }
            return state.standing
        }
    }

    /// A node has said it.
    func noteTold(_ standing: ProjectStanding, by node: Int64) {
        state.withLock { $0.told = (node, standing) }
    }
}
