import PushModel
import Store

/// Routes as numbers, within one transaction. A route that was once used keeps its number.
struct RouteTable {
    let db: any Database

    static let byName = "SELECT id FROM route WHERE project = ? AND app = ? AND channel = ?"
    static let byID = "SELECT project, app, channel FROM route WHERE id = ?"

    /// The number of a route, if it has one.
    func find(_ route: PushRoute) throws -> Int64? {
        try db.number(Self.byName, [route.project.rawValue, route.app.rawValue, Int64(route.channel.code)])
    }

    /// The number of a route; it gets one if it has none. In transactions that write.
    func id(of route: PushRoute) throws -> Int64 {
        if let known = try find(route) { return known }
        return try db.insert(
            "INSERT INTO route (project, app, channel) VALUES (?, ?, ?)",
            [route.project.rawValue, route.app.rawValue, Int64(route.channel.code)], key: "id")
    }

    /// The route with this number.
    func route(_ id: Int64) throws -> PushRoute {
        guard let row = try db.row(Self.byID, [id]) else { throw StoreError.invalid("a route") }
        return PushRoute(
            project: try ProjectID(stored: row[0]), app: try AppID(stored: row[1]),
            channel: try Channel(stored: row[2]))
    }
}
