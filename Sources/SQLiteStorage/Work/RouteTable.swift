import GRDB
import PushModel
import Store

/// Routes as numbers, within one transaction. A route that was once used keeps its number.
struct RouteTable {
    let db: Database

    static let byName = "SELECT id FROM route WHERE project = ? AND app = ? AND environment = ?"
    static let byID = "SELECT project, app, environment FROM route WHERE id = ?"

    /// The number of a route, if it has one.
    func find(_ route: PushRoute) throws -> Int64? {
        try db.number(Self.byName, [route.project.rawValue, route.app.rawValue, route.environment.rawValue])
    }

    /// The number of a route; it gets one if it has none. In transactions that write.
    func id(of route: PushRoute) throws -> Int64 {
        if let known = try find(route) { return known }
        try db.change(
            "INSERT INTO route (project, app, environment) VALUES (?, ?, ?)",
            [route.project.rawValue, route.app.rawValue, route.environment.rawValue])
        return db.lastInsertedRowID
    }

    /// The route with this number.
    func route(_ id: Int64) throws -> PushRoute {
        guard let row = try db.row(Self.byID, [id]) else { throw StoreError.invalid("a route") }
        return PushRoute(
            project: try ProjectID(stored: row[0]), app: try AppID(stored: row[1]),
            environment: try APNSEnvironment(storedCase: row[2]))
    }
}
