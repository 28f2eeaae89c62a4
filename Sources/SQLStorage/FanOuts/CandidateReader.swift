import PushModel
import Store

/// Recipients that a shard has next, as one snapshot shows them.
struct Candidates {
    /// In the order of keys.
    var registrations: [DeliveryRegistration] = []
    /// Recipients whose routes are held, by route, in the order of keys: they are not claimed now.
    var setAside: [PushRoute: [Int64]] = [:]
    /// Everybody up to this key was looked at.
    var cursor: Int64
    /// Whether no candidate is left after the cursor.
    var isAtEnd = false
    /// Who was passed by, up to the cursor.
    var passedBy = PassedBy()
    /// The routes that were held, and the newest change of a registration that the snapshot shows.
    var held: Set<PushRoute> = []
    var changes: Int64 = 0

    /// Brings what was read up to date with the transaction that claims it: who ended, was quarantined or whose route
    /// is held by now is no recipient of this page, and the others are handed out as they are. Nor is a device that gets
    /// the message under another registration; that is not counted as passed by.
    mutating func update(of shard: Shard, in db: any Database) throws {
        if let changed = try RegistrationChanges(db: db).after(changes) {
            var reader = CandidateReader(db: db, shard: shard, held: held)
            var now: [DeliveryRegistration] = []
            now.reserveCapacity(registrations.count)
            for registration in registrations {
                guard changed.contains(registration.key) else {
                    now.append(registration)
                    continue
                }
                guard let current = try reader.current(registration.key) else {
                    passedBy.add(\.ended, try reader.formerPlatform(of: registration.key.rawValue))
                    continue
                }
                switch reader.standing(of: current) {
                case .recipient: now.append(current)
                case .held(let route): insert(registration.key.rawValue, into: route)
                case .passed(let cause): passedBy.add(cause, current.address.platform)
                }
            }
            registrations = now
        }
        let repeats = try TokenMoves(db: db).repeats(of: shard.id.message, among: registrations.map(\.key.rawValue))
        if !repeats.isEmpty { registrations.removeAll { repeats.contains($0.key.rawValue) } }
    }

    private mutating func insert(_ key: Int64, into route: PushRoute) {
        let keys = setAside[route] ?? []
        setAside[route] = (keys + [key]).sorted()
    }
}

/// Registrations that were passed by, by cause and by platform.
struct PassedBy {
    private(set) var causes = PassedOver()
    private(set) var platforms = PlatformCounts()

    /// Counts one.
    mutating func add(_ cause: WritableKeyPath<PassedOver, Int>, _ platform: Platform) {
        causes[keyPath: cause] += 1
        platforms[platform] += 1
    }
}

/// Finds the recipients of a shard within one snapshot. Ended, quarantined and stale registrations are passed by; those
/// of routes that are held are set aside.
struct CandidateReader {
    /// So many keys are looked at for one page at most: a page of a rare audience is found in several steps.
    static let lookLimit = 50_000
    /// The fewest subscribers that one statement reads: more than a page of recipients, when it is a small one.
    private static let readLimit = 500

    static let subscribers = """
        SELECT \(DeliveryRegistrationReader.columns)
        FROM subscription s CROSS JOIN registration r ON r.key = s.registration
        WHERE s.topic = ? AND s.registration > ? AND s.registration <= ? AND s.number <= ? ORDER BY s.registration
        LIMIT ?
        """

    let db: any Database
    let shard: Shard
    private let held: [PushRoute]
    private let allHeld: Set<PushRoute>
    /// Who had been passed by when the last one of the page was found.
    private var passedBeforeLast = PassedBy()
    private var reader: DeliveryRegistrationReader
    private var apps: KeyApps

    /// - Parameter held: no recipient is taken for these routes. What was set aside before is not set aside again.
    init(db: any Database, shard: Shard, held: Set<PushRoute> = []) {
        self.db = db
        self.shard = shard
        reader = DeliveryRegistrationReader(db: db)
        apps = KeyApps(db: db)
        allHeld = held
        self.held = shard.onlyRoute == nil ? held.filter { $0.project == shard.project } : []
    }

    /// Up to `limit` recipients. One more is looked for, so that the shard is known to be at its end with its last page,
    /// and its message completes when that is settled.
    mutating func next(_ limit: Int) throws -> Candidates {
        var found = Candidates(cursor: shard.after, held: allHeld, changes: try RegistrationChanges(db: db).number())
        found.registrations.reserveCapacity(limit + 1)
        switch shard.audience {
        case .topic(let topic): try readSubscribers(of: topic, limit, into: &found)
        case .condition(let expression):
            var stream = try ConditionStream(
                expression, project: shard.project, after: shard.after, last: shard.last,
                number: shard.lastSubscription, in: db)
            try read(limit, into: &found) { try stream.next() }
        case .list: try readKeys(.list(shard.id.message), limit, into: &found)
        case .setAside: try readKeys(.setAside(shard.id), limit, into: &found)
        }
        if found.isAtEnd {
            // More may be set aside yet, behind the last of now.
            if shard.onlyRoute == nil { found.cursor = shard.last }
        } else if found.registrations.count > limit, let last = found.registrations.dropLast().last {
            // Who was set aside behind the last one is looked at again.
            found.registrations.removeLast()
            found.cursor = last.key.rawValue
            found.passedBy = passedBeforeLast
            for (route, keys) in found.setAside { found.setAside[route] = keys.filter { $0 < found.cursor } }
        }
        return found
    }

    private mutating func readKeys(_ source: KeyStream.Source, _ limit: Int, into found: inout Candidates) throws {
        var stream = KeyStream(source, after: shard.after, last: shard.last, in: db)
        try read(limit, into: &found) {
            let key = try stream.peek()
            stream.advance()
            return key.map { ($0, true) }
        }
    }

    private mutating func readSubscribers(of topic: Int64, _ limit: Int, into found: inout Candidates) throws {
        var left = max(Self.lookLimit, limit + 1)
        while left > 0, !found.isAtEnd {
            let count = min(left, max(Self.readLimit, limit + 1))
            if try readSubscribers(of: topic, count, limit, into: &found) { return }
            left -= count
        }
    }

    /// Looks at the next `count` subscribers.
    ///
    /// - Returns: whether there are enough recipients.
    private mutating func readSubscribers(
        of topic: Int64, _ count: Int, _ limit: Int, into found: inout Candidates
    ) throws -> Bool {
        let rows = try db.cursor(
            Self.subscribers, [topic, found.cursor, shard.last, shard.lastSubscription, count])
        for _ in 0..<count {
            guard let row = try rows.next() else {
                found.isAtEnd = true
                return false
            }
            let registration = try reader.read(row)
            found.cursor = registration.key.rawValue
            if take(registration, limit, into: &found) { return true }
        }
        return false
    }

    private mutating func read(
        _ limit: Int, into found: inout Candidates, _ next: () throws -> (key: Int64, isIn: Bool)?
    ) throws {
        var left = max(Self.lookLimit, limit + 1)
        while left > 0 {
            let count = min(left, max(Self.readLimit, limit + 1))
            var keys: [(key: Int64, isIn: Bool)] = []
            while keys.count < count, let key = try next() { keys.append(key) }
            if try take(keys, limit, into: &found) { return }
            guard keys.count == count else {
                found.isAtEnd = true
                return
            }
            left -= count
        }
    }

    /// Looks at keys that come one after the other.
    ///
    /// - Returns: whether there are enough recipients.
    private mutating func take(
        _ keys: [(key: Int64, isIn: Bool)], _ limit: Int, into found: inout Candidates
    ) throws -> Bool {
        let registrations = try reader.find(keys.lazy.filter(\.isIn).map(\.key))
        for (key, isIn) in keys {
            found.cursor = key
            guard isIn else { continue }
            guard let registration = try registrations[key] ?? reader.find(key) else {
                found.passedBy.add(\.ended, try formerPlatform(of: key))
                continue
            }
            if take(registration, limit, into: &found) { return true }
        }
        return false
    }

    /// What a registration is to a shard.
    enum Standing {
        case recipient
        /// A recipient whose route is held.
        case held(PushRoute)
        /// Not one, and where that is counted.
        case passed(WritableKeyPath<PassedOver, Int>)
    }

    /// A recipient that was found before, as it is now; `nil`: it is gone.
    mutating func current(_ key: RegistrationKey) throws -> DeliveryRegistration? {
        try reader.find(key.rawValue)
    }

    /// The platform of a registration that was purged since.
    mutating func formerPlatform(of key: Int64) throws -> Platform {
        try apps.platform(of: key, in: shard.project.rawValue)
    }

    /// What a registration is to the shard.
    func standing(of registration: DeliveryRegistration) -> Standing {
        guard registration.isActive else { return .passed(\.ended) }
        guard !registration.isQuarantined else { return .passed(\.quarantined) }
        if let since = shard.refreshedSince, registration.refreshedAt < since { return .passed(\.stale) }
        let route = held.first { $0.app == registration.app && $0.channel == registration.channel }
        return route.map { .held($0) } ?? .recipient
    }

    /// Adds a registration if it is a recipient.
    ///
    /// - Returns: whether there are enough.
    private mutating func take(
        _ registration: DeliveryRegistration, _ limit: Int, into found: inout Candidates
    ) -> Bool {
        switch standing(of: registration) {
        case .passed(let cause): found.passedBy.add(cause, registration.address.platform)
        case .held(let route): found.setAside[route, default: []].append(registration.key.rawValue)
        case .recipient:
            found.registrations.append(registration)
            if found.registrations.count <= limit { passedBeforeLast = found.passedBy }
        }
        return found.registrations.count > limit
    }
}
