import PushModel
import Store

/// The tables of clicks and of installs that were given a link, within one transaction.
struct ClickTable {
    let db: any Database

    private static let columns = """
        id, project, platform, app, url, link, invitation, time, expires_at, address, screen_short, screen_long, language,
        time_zone, system_major, system_minor, device
        """
    static let insert = """
        INSERT INTO link_click (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET address = excluded.address, screen_short = excluded.screen_short,
            screen_long = excluded.screen_long, language = excluded.language, time_zone = excluded.time_zone,
            system_major = excluded.system_major, system_minor = excluded.system_minor, device = excluded.device
        WHERE link_click.used_at IS NULL
        """
    static let byID = "SELECT \(columns) FROM link_click WHERE id = ? AND used_at IS NULL AND expires_at > ?"
    static let open = """
        SELECT \(columns) FROM link_click INDEXED BY link_click_open
        WHERE used_at IS NULL AND time >= ?1 AND (time, id) > (?1, ?2) ORDER BY time, id LIMIT ?3
        """
    static let isThere = "SELECT 1 FROM link_click WHERE id = ?"
    static let isUsed = "SELECT used_at IS NOT NULL FROM link_click WHERE id = ?"
    static let use = "UPDATE link_click SET used_at = ? WHERE id = ?"
    static let forget = """
        DELETE FROM link_click WHERE id IN (
            SELECT id FROM link_click INDEXED BY link_click_expiry WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
        """
    static let isKnown = """
        SELECT 1 FROM attributed_install WHERE project = ? AND platform = ? AND app = ? AND digest = ?
        """
    static let addInstall = """
        INSERT INTO attributed_install (project, platform, app, digest, time) VALUES (?, ?, ?, ?, ?)
        """
    static let forgetInstalls = """
        DELETE FROM attributed_install WHERE (project, platform, app, digest) IN (
            SELECT project, platform, app, digest FROM attributed_install INDEXED BY attributed_install_time
            WHERE time < ?1 ORDER BY time LIMIT ?2)
        """

    /// The key of digests, made with the store.
    func digestKey() throws -> [UInt8] {
        guard let row = try db.row("SELECT key FROM digest_key", []) else { throw StoreError.invalid("a digest key") }
        return row[0] as [UInt8]
    }

    /// Adds a click, or what is known of its device by now.
    ///
    /// - Returns: whether it was not known before.
    @discardableResult
    func insert(_ click: LinkClick) throws -> Bool {
        let isNew = try db.number(Self.isThere, [click.id.value.data]) == nil
        let traits = click.traits
        try db.change(
            Self.insert,
            [
                click.id.value.data, click.project.rawValue, click.app.platform.code, click.app.id.rawValue, click.url,
                click.link?.rawValue, click.invitation?.value.data, click.time.milliseconds,
                click.expiresAt.milliseconds, traits.address?.value.data, traits.screen?.short, traits.screen?.long,
                traits.language, traits.timeZone, traits.system?.major, traits.system?.minor, traits.device?.rawValue,
            ])
        return isNew
    }

    /// Writes the events of clicks that are new.
    func note(_ clicks: [LinkClick]) throws {
        var projects: [ProjectID: [LinkClick]] = [:]
        for click in clicks { projects[click.project, default: []].append(click) }
        for (project, clicks) in projects.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let bodies = clicks.map {
                EventBody.Click(app: $0.app, link: $0.link?.rawValue ?? 0, invitation: $0.invitation)
            }
            try EventTable(db: db).add(.clicks(bodies), of: project, at: clicks.map(\.time).max() ?? clicks[0].time)
        }
    }

    func find(_ id: ClickID, at time: Timestamp) throws -> LinkClick? {
        try db.row(Self.byID, [id.value.data, time.milliseconds]).map(LinkClick.init(row:))
    }

    /// Clicks that are not used up, behind one of them or from a time on.
    func open(since time: Timestamp, after last: LinkClick?, limit: Int) throws -> [LinkClick] {
        let start = last.map { max($0.time, time) } ?? time
        let rows = try db.rows(Self.open, [start.milliseconds, last?.id.value.data ?? [], limit])
        return try rows.map(LinkClick.init(row:))
    }

    /// Uses a click up, and notes the install.
    ///
    /// - Returns: why not; `nil`: done.
    func use(_ attribution: NewAttribution) throws -> AttributionResult? {
        let app: SQLArguments = [
            attribution.project.rawValue, attribution.app.platform.code, attribution.app.id.rawValue,
            attribution.install?.value.data,
        ]
        if attribution.install != nil, try db.number(Self.isKnown, app) != nil { return .installKnown }
        if let click = attribution.click {
            if try db.number(Self.isUsed, [click.id.value.data]) == 1 { return .clickTaken }
            if try insert(click) { try note([click]) }
            try db.change(Self.use, [attribution.time.milliseconds, click.id.value.data])
        }
        if attribution.install != nil {
            try db.change(Self.addInstall, app + [attribution.time.milliseconds])
        }
        return nil
    }
}

extension LinkClick {
    /// Reads the columns of a click.
    fileprivate init(row: Row) throws {
        guard let id = SixteenBytes(row[0] as [UInt8]), let app = AppID(rawValue: row[3]) else {
            throw StoreError.invalid("a click")
        }
        self.init(
            id: ClickID(id), project: try ProjectID(stored: row[1]), app: AppKey(try Platform(stored: row[2]), app),
            url: row[4], link: (row[5] as Int64?).map(LinkID.init),
            invitation: (row[6] as [UInt8]?).flatMap { SixteenBytes($0) }.map(InvitationID.init),
            time: Timestamp(milliseconds: row[7]), expiresAt: Timestamp(milliseconds: row[8]),
            traits: DeviceTraits(
                address: (row[9] as [UInt8]?).flatMap { SixteenBytes($0) }.map(KeyedDigest.init),
                screen: ScreenSize(row[10] ?? 0, row[11] ?? 0), language: row[12], timeZone: row[13],
                system: (row[14] as Int?).flatMap { SystemVersion(major: $0, minor: row[15] ?? 0) },
                device: (row[16] as Int?).flatMap(DeviceClass.init)))
    }
}

extension SixteenBytes {
    /// As a column holds them.
    var data: [UInt8] { bytes }
}
