import PushModel
import Store

/// The app of registrations by their keys, also of those that were purged, within one transaction.
struct KeyApps {
    private let db: any Database
    private var onlyApps: [String: Int64?] = [:]
    /// The keys of a block that were read together, with what was found of them.
    private var range: ClosedRange<Int64>?
    private var apps: [Int64: Int64] = [:]
    /// By the number of an app.
    private var platforms: [Int64: Platform] = [:]
    private var onlyPlatforms: [String: Platform?] = [:]

    static let ofKey = "SELECT app FROM registration WHERE key = ?"
    static let ofFormer = "SELECT app FROM former_registration WHERE key = ?"
    static let platform = "SELECT platform FROM app WHERE id = ?"
    static let platformsOfProject = "SELECT DISTINCT platform FROM app WHERE project = ? LIMIT 2"
    static let ofRange = "SELECT key, app FROM registration WHERE key BETWEEN ? AND ?"
    static let ofFormerRange = "SELECT key, app FROM former_registration WHERE key BETWEEN ? AND ?"
    /// Fewer entries, or entries farther apart, are looked up one by one.
    private static let (fewest, widestStep) = (16, 8 as Int64)

    init(db: any Database) {
        self.db = db
    }

    /// The number of the app; `nil`: nothing is known of the registration.
    mutating func app(of key: Int64, in project: String) throws -> Int64? {
        // Most projects have one app: no row needs to be looked at.
        if let only = try onlyApp(of: project) { return only }
        if let range, range.contains(key) {
            return apps[key]
        }
        return try db.number(Self.ofKey, [key]) ?? db.number(Self.ofFormer, [key])
    }

    /// The platform of the app; Apple's where nothing is known of the registration, which no row says then.
    mutating func platform(of key: Int64, in project: String) throws -> Platform {
        if let only = try onlyPlatform(of: project) { return only }
        guard let app = try app(of: key, in: project) else { return .apple }
        if let known = platforms[app] { return known }
        guard let code = try db.number(Self.platform, [app]) else { throw StoreError.invalid("an app") }
        let platform = try Platform(stored: Int(code))
        platforms[app] = platform
        return platform
    }

    /// The platform that all apps of a project are of, so that none of its registrations needs to be asked for.
    mutating func onlyPlatform(of project: String) throws -> Platform? {
        if let known = onlyPlatforms[project] { return known }
        let codes: [Int] = try db.column(Self.platformsOfProject, [project])
        let only = try codes.count == 1 ? Platform(stored: codes[0]) : nil
        onlyPlatforms[project] = .some(only)
        return only
    }

    /// Reads the apps of a block's keys together, where they lie close to each other.
    mutating func read(_ block: LedgerBlock, in project: String) throws {
        range = nil
        guard block.entries.count >= Self.fewest, let first = block.entries.first?.key,
            let last = block.entries.last?.key, first <= last,
            (last - first) / Self.widestStep < Int64(block.entries.count), try onlyApp(of: project) == nil
        else { return }
        apps.removeAll(keepingCapacity: true)
        let rows = try db.cursor(Self.ofRange, [first, last])
        while let row = try rows.next() { apps[row[0]] = row[1] }
        let formerRows = try db.cursor(Self.ofFormerRange, [first, last])
        while let row = try formerRows.next() {
            let key: Int64 = row[0]
            if apps[key] == nil { apps[key] = row[1] }
        }
        range = first...last
    }

    private mutating func onlyApp(of project: String) throws -> Int64? {
        if let known = onlyApps[project] { return known }
        let apps = try db.rows("SELECT id FROM app WHERE project = ? LIMIT 2", [project])
        let only: Int64? = apps.count == 1 ? apps[0][0] : nil
        onlyApps[project] = .some(only)
        return only
    }
}
