import PushModel
import Store

/// The apps that registrations belong to, within one transaction. A row of `app` is never changed or deleted.
struct AppTable {
    let db: any Database

    static let byKey = "SELECT id FROM app WHERE project = ? AND name = ? AND platform = ?"
    static let byName = "SELECT id FROM app WHERE project = ? AND name = ? ORDER BY platform"

    /// The app's number; `nil` while it has never had a registration.
    func find(_ project: ProjectID, _ app: AppKey) throws -> Int64? {
        let statement = try db.statement(Self.byKey)
        statement.bind(project.rawValue)
        statement.bind(app.id.rawValue)
        statement.bind(app.platform.code)
        return try statement.first { $0.number(0) }
    }

    /// The numbers of the apps with this id, one for each platform that had a registration.
    ///
    /// - Parameter platform: only of this one; `nil`: of all.
    func ids(_ project: ProjectID, _ app: AppID, on platform: Platform?) throws -> [Int64] {
        if let platform { return try find(project, AppKey(platform, app)).map { [$0] } ?? [] }
        return try db.numbers(Self.byName, [project.rawValue, app.rawValue])
    }

    /// The app's number; the row is made if it is new.
    func id(_ project: ProjectID, _ app: AppKey) throws -> Int64 {
        if let known = try find(project, app) { return known }
        return try db.insert(
            "INSERT INTO app (project, name, platform) VALUES (?, ?, ?)",
            [project.rawValue, app.id.rawValue, app.platform.code], key: "id")
    }

    /// The numbers of a project's apps, in their order.
    func ids(of project: ProjectID) throws -> [Int64] {
        try db.numbers("SELECT id FROM app WHERE project = ? ORDER BY id", [project.rawValue])
    }
}

/// Project and bundle id by an app's number, each read once: for readers of many rows, within one transaction.
struct AppNames {
    /// Whose a registration is.
    struct Name: Hashable {
        let project: ProjectID
        let app: AppID
    }

    private let db: any Database
    private let known: [Int64: Name]
    /// Those that were read.
    private(set) var found: [Int64: Name] = [:]

    /// - Parameter known: those that need not be read.
    init(db: any Database, known: [Int64: Name] = [:]) {
        self.db = db
        self.known = known
    }

    /// The names of the app with this number.
    subscript(id: Int64) -> Name {
        mutating get throws {
            if let name = known[id] ?? found[id] { return name }
            guard let row = try db.row("SELECT project, name FROM app WHERE id = ?", [id]) else {
                throw StoreError.invalid("an app")
            }
            let name = Name(project: try ProjectID(stored: row[0]), app: try AppID(stored: row[1]))
            found[id] = name
            return name
        }
    }

    /// Reads a registration from ``Registration/columnsWithoutNames``, which begin at `start`.
    mutating func registration(_ row: Row, from start: Int = 0) throws -> Registration {
        try Registration(row: row, from: start, app: self[row[start]])
    }
}
