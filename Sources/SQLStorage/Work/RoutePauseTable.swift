import PushModel
import Store

/// Which worker pauses which routes, within one transaction. The first pause of a route is an event, and so is the end of
/// the last one.
struct RoutePauseTable {
    let db: any Database

    static let insert = """
        INSERT INTO route_pause (route, worker, is_credential) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
        """
    static let delete = "DELETE FROM route_pause WHERE route = ? AND worker = ?"
    static let cause = "SELECT is_credential FROM route_pause WHERE route = ? AND worker = ?"
    static let count = "SELECT count(*) FROM route_pause WHERE route = ?"
    static let ofWorker =
        "SELECT route FROM route_pause INDEXED BY route_pause_by_worker WHERE worker = ? ORDER BY route"

    /// Takes down what a worker does to a route.
    func note(_ notice: RouteNotice, by worker: Int64, at time: Timestamp) throws {
        let route = try RouteTable(db: db).id(of: notice.route)
        guard notice.isPaused else { return try resume(route, of: notice.route.project, by: worker, at: time) }
        guard try db.change(Self.insert, [route, worker, notice.isOfCredential]) > 0,
            try db.number(Self.count, [route]) == 1
        else { return }
        try EventTable(db: db).add(
            .route(route, isPaused: true, isOfCredential: notice.isOfCredential), of: notice.route.project, at: time)
    }

    /// A worker has ended: so have its pauses.
    func end(_ worker: Int64, at time: Timestamp) throws {
        for route in try db.numbers(Self.ofWorker, [worker]) {
            try resume(route, of: try RouteTable(db: db).route(route).project, by: worker, at: time)
        }
    }

    private func resume(_ route: Int64, of project: ProjectID, by worker: Int64, at time: Timestamp) throws {
        let isOfCredential = try db.number(Self.cause, [route, worker]) == 1
        guard try db.change(Self.delete, [route, worker]) > 0, try db.number(Self.count, [route]) == 0 else { return }
        try EventTable(db: db).add(
            .route(route, isPaused: false, isOfCredential: isOfCredential), of: project, at: time)
    }
}
