import PushModel
import Store
import Synchronization

/// Numbers that the database has given to names: rows of `app` and `route`, which are never changed or deleted.
struct NameNumbers {
    /// An app of a project.
    struct App: Hashable {
        let project: ProjectID
        let key: AppKey
    }

    var apps: [App: Int64] = [:]
    var routes: [PushRoute: Int64] = [:]
    var appNames: [Int64: AppNames.Name] = [:]

    var count: Int { apps.count + routes.count + appNames.count }

    mutating func add(_ other: NameNumbers) {
        apps.merge(other.apps) { $1 }
        routes.merge(other.routes) { $1 }
        appNames.merge(other.appNames) { $1 }
    }
}

/// The numbers that committed transactions have seen, so that the next ones need not ask for them.
final class NameCache: Sendable {
    /// The most names. Beyond that all are forgotten.
    private static let limit = 10_000

    private let state = Mutex((numbers: NameNumbers(), connection: 0))

    /// Those of a connection. A new one begins with none: it may be to a server that took over and did not receive the last
    /// commits.
    func numbers(of connection: Int) -> NameNumbers {
        state.withLock { state in
            if state.connection != connection { state = (NameNumbers(), connection) }
            return state.numbers
        }
    }

    /// Takes in what a transaction on a connection found that is committed by now.
    func add(_ found: NameNumbers, of connection: Int) {
        guard found.count > 0 else { return }
        state.withLock { state in
            guard state.connection == connection else { return }
            if state.numbers.count + found.count > Self.limit { state.numbers = NameNumbers() }
            state.numbers.add(found)
        }
    }
}
