import HTTPTypes
import Hummingbird

/// Which methods each path of the table takes: the router answers an unknown path and a wrong method alike.
struct RoutePaths: Sendable {
    private let routes: [(path: RouterPath, method: HTTPRequest.Method)]

    /// Takes the table.
    init(_ routes: [Route]) {
        self.routes = routes.map { (RouterPath($0.path), $0.method) }
    }

    /// The methods that a path takes, in the order of the table.
    func methods(of path: String) -> [HTTPRequest.Method] {
        let parts = path.split(separator: "/")
        let matches = routes.filter { route in
            route.path.count == parts.count && zip(route.path, parts).allSatisfy { $0 ~= $1 }
        }
        // The closest pattern wins, as in the router: `messages:send` is no message id.
        let closest = matches.map { literals(in: $0.path, parts) }.max()
        return matches.filter { literals(in: $0.path, parts) == closest }.map(\.method)
    }

    private func literals(in path: RouterPath, _ parts: [Substring]) -> Int {
        zip(path, parts).count { $0 == $1 }
    }
}
