import PushModel

/// Whether an upstream works, as far as its answers tell, and what to do about it. A problem is told once when it
/// begins and once when it ends, not with each push.
struct UpstreamHealth {
    /// What the owner must do now.
    enum Action: Hashable {
        /// Tell the operator that a problem began.
        case tell(UpstreamSign.Problem)
        /// Tell the operator that the problem of this name is over.
        case tellRecovery(from: String)
        /// Replace the connections.
        case recycle
    }

    /// A problem that comes and goes is not told more often.
    static let tellingInterval: Duration = .seconds(60)
    /// Connections are not replaced more often: Apple takes rapid reconnecting for an attack.
    static let recyclingInterval: Duration = .seconds(15)

    /// The problem that the last answers showed.
    private var problem: String?
    /// The problem that the operator was told of last, and when.
    private var told: (name: String, at: Timestamp)?
    /// The problem that was told last has not been told to be over.
    private var isRecoveryDue = false
    private var recycledAt: Timestamp?

    /// Takes note of what a batch of answers says.
    mutating func note(_ signs: [UpstreamSign], at now: Timestamp) -> [Action] {
        var seen: UpstreamSign.Problem?
        var isWorking = false
        var wantsFreshConnections = false
        for sign in signs {
            switch sign {
            case .nothing: break
            case .working: isWorking = true
            case .problem(let problem):
                seen = problem
                if problem.remedy == .freshConnections { wantsFreshConnections = true }
            }
        }
        var actions: [Action] = []
        if let seen {
            actions += begin(seen, at: now)
        } else if isWorking {
            actions += end()
        }
        if wantsFreshConnections, hasPassed(Self.recyclingInterval, since: recycledAt, at: now) {
            recycledAt = now
            actions.append(.recycle)
        }
        return actions
    }

    private mutating func begin(_ new: UpstreamSign.Problem, at now: Timestamp) -> [Action] {
        guard new.name != problem else { return [] }
        problem = new.name
        if let told, told.name == new.name, !hasPassed(Self.tellingInterval, since: told.at, at: now) { return [] }
        told = (new.name, now)
        isRecoveryDue = true
        return [.tell(new)]
    }

    private mutating func end() -> [Action] {
        guard let ended = problem else { return [] }
        problem = nil
        guard isRecoveryDue, told?.name == ended else { return [] }
        isRecoveryDue = false
        return [.tellRecovery(from: ended)]
    }

    /// A clock that was set back must not silence the upstream, hence the check for a time in the future.
    private func hasPassed(_ interval: Duration, since start: Timestamp?, at now: Timestamp) -> Bool {
        guard let start else { return true }
        return now - start >= interval || now < start
    }
}
