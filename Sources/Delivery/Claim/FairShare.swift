import PushModel

/// How projects share a lane: turns and room by weight.
///
/// - *Turns*: the project that has had the least, measured in claimed deliveries over weight, is next (stride scheduling).
/// - *Room*: where there are several projects, a quarter of the lane stays free for those that come: a project that has
///   its share of the rest in flight gets no more than what is free beyond that quarter.
struct FairShare {
    private struct Tenant {
        var weight = 1
        var inFlight = 0
        /// Claims under way.
        var running = 0
        /// Deliveries claimed over weight: the one with the least is next.
        var pass = 0.0
        var hasWork = false

        /// The weight that it counts for where the lane is shared.
        var share: Int { inFlight > 0 || hasWork ? weight : 0 }
    }

    /// The size of the lane.
    let size: LaneSize
    private var tenants: [ProjectID: Tenant] = [:]
    // Each step asks for these three, and there may be thousands of projects.
    /// The projects that have something to claim.
    private(set) var working: Set<ProjectID> = []
    /// Those with claims under way.
    private var claiming: Set<ProjectID> = []
    /// The weights of all that have something in flight or to claim.
    private(set) var weights = 0
    /// Claims under way.
    private(set) var running = 0
    /// Claimed and not settled, and what running claims may bring.
    private(set) var inFlight = 0
    /// The pass of the project that claimed last: a new one begins there.
    private var virtualPass = 0.0
    /// What stays free for projects that have less than their share.
    private var reserve = 0

    init(_ size: LaneSize) {
        self.size = size
    }
}

// MARK: - Turns

extension FairShare {
    /// The projects that have something to claim, in turn. The first is found without sorting the others: nearly always it
    /// can claim.
    struct Turns: Sequence, IteratorProtocol {
        fileprivate var turns: [(pass: Double, project: ProjectID)]
        private var taken = 0

        fileprivate init(_ turns: [(pass: Double, project: ProjectID)]) {
            self.turns = turns
        }

        mutating func next() -> ProjectID? {
            defer { taken += 1 }
            if taken == 0 { return turns.min(by: Self.isBefore)?.project }
            if taken == 1 { turns.sort(by: Self.isBefore) }
            return turns.indices.contains(taken) ? turns[taken].project : nil
        }

        private static func isBefore(
            _ left: (pass: Double, project: ProjectID), _ right: (pass: Double, project: ProjectID)
        ) -> Bool {
            left.pass == right.pass ? left.project.rawValue < right.project.rawValue : left.pass < right.pass
        }
    }

    /// The projects that have something to claim, in turn.
    var turns: Turns {
        Turns(working.map { (tenants[$0]?.pass ?? 0, $0) })
    }

    /// Whether a project has had more than its share beside one whose claim is under way: that one goes on when the
    /// claim has ended. Otherwise a project with fewer shards would get less.
    func isAhead(_ project: ProjectID) -> Bool {
        guard let tenant = tenants[project], running > tenant.running else { return false }
        let slack = Double(size.claim) / Double(tenant.weight)
        return claiming.contains { tenants[$0].map { tenant.pass > $0.pass + slack } ?? false }
    }
}

// MARK: - Room

extension FairShare {
    /// How much a project may claim now.
    func room(of project: ProjectID) -> Int {
        let tenant = tenants[project] ?? Tenant()
        let free = size.inFlight - inFlight
        return max(min(free, share(of: tenant) - tenant.inFlight), free - reserve)
    }

    /// The room that a project's claim waits for.
    func leastRoom(of project: ProjectID) -> Int {
        max(1, min(size.leastRoom, share(of: tenants[project] ?? Tenant()) / 4))
    }

    /// A project's share of the lane, beside all that have something in flight or waiting.
    private func share(of tenant: Tenant) -> Int {
        let all = tenant.share > 0 ? weights : weights + tenant.weight
        return (size.inFlight - reserve) * tenant.weight / max(1, all)
    }

    /// A claim takes room for all that it may bring; ``endClaim(of:taking:bringing:)`` follows.
    mutating func beginClaim(of project: ProjectID, taking limit: Int) {
        running += 1
        claiming.insert(project)
        edit(project) { tenant in
            tenant.running += 1
            tenant.inFlight += limit
        }
        inFlight += limit
        virtualPass = tenants[project]?.pass ?? virtualPass
        charge(limit, to: project)
    }

    /// A claim that took room for `limit` brought `count`, which may be more.
    mutating func endClaim(of project: ProjectID, taking limit: Int, bringing count: Int) {
        running -= 1
        tenants[project]?.running -= 1
        if tenants[project]?.running == 0 { claiming.remove(project) }
        move(count - limit, of: project)
        charge(count - limit, to: project)
    }

    /// Takes room for deliveries that are claimed with their accept.
    ///
    /// - Returns: `false` when there is not room for all of them.
    mutating func take(_ counts: [ProjectID: Int]) -> Bool {
        guard counts.allSatisfy({ $0.value <= room(of: $0.key) }),
            counts.values.reduce(0, +) + inFlight <= size.inFlight
        else { return false }
        for (project, count) in counts {
            move(count, of: project)
            charge(count, to: project)
        }
        return true
    }

    /// `count` deliveries of a project are settled, or their room was not needed.
    mutating func giveBack(_ count: Int, of project: ProjectID) {
        move(-count, of: project)
    }

    private mutating func move(_ count: Int, of project: ProjectID) {
        precondition(
            inFlight + count >= 0 && (tenants[project]?.inFlight ?? 0) + count >= 0,
            "\(-count) of \(inFlight) come back")
        inFlight += count
        edit(project) { $0.inFlight += count }
    }

    /// Counts deliveries as had by a project.
    private mutating func charge(_ count: Int, to project: ProjectID) {
        let weight = tenants[project]?.weight ?? 1
        tenants[project]?.pass += Double(count) / Double(weight)
    }

    /// Changes what a project has in flight or to claim, and the sums of it.
    private mutating func edit(_ project: ProjectID, _ change: (inout Tenant) -> Void) {
        var tenant = tenants.removeValue(forKey: project) ?? Tenant(pass: virtualPass)
        weights -= tenant.share
        change(&tenant)
        weights += tenant.share
        if tenant.hasWork { working.insert(project) } else { working.remove(project) }
        tenants[project] = tenant
    }
}

// MARK: - Projects

extension FairShare {
    /// Takes over which projects there are and which have something to claim.
    mutating func offered(to projects: [Project], working: Set<ProjectID>) {
        reserve = projects.count > 1 ? size.inFlight / 4 : 0
        for project in projects {
            var tenant = tenants[project.id] ?? Tenant(pass: virtualPass)
            tenant.weight = project.weight
            tenants[project.id] = tenant
        }
        for id in Set(tenants.keys).union(working) {
            var tenant = tenants[id] ?? Tenant(pass: virtualPass)
            // A project that had nothing to send has no claim on what was sent meanwhile.
            if !tenant.hasWork { tenant.pass = max(tenant.pass, virtualPass) }
            tenant.hasWork = working.contains(id)
            tenants[id] = tenant
        }
        let known = Set(projects.map(\.id))
        tenants = tenants.filter { known.contains($0.key) || $0.value.inFlight > 0 || $0.value.hasWork }
        self.working = working
        claiming = Set(tenants.lazy.filter { $0.value.running > 0 }.map(\.key))
        weights = tenants.values.reduce(0) { $0 + $1.share }
    }

    /// A project has something to claim, or nothing any more.
    mutating func setWork(_ hasWork: Bool, of project: ProjectID) {
        edit(project) { $0.hasWork = hasWork }
    }
}
