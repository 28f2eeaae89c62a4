import Synchronization

/// What a simulator has counted since its start.
package struct Statistics: Sendable, Codable, Hashable {
    /// TLS connections with HTTP/2 that were opened.
    package var connections = 0
    /// Requests that arrived in full.
    package var pushes = 0
    /// Requests that were answered 200.
    package var accepted = 0
    /// Requests that were never answered because a rule or a scenario says so.
    package var unanswered = 0
    /// Requests to the management host of channels that arrived in full; they are not counted among the pushes.
    package var managementRequests = 0
    /// Connections that were ended because the client opened more streams than allowed.
    package var streamViolations = 0
    /// Refused requests by reason.
    package var byReason: [String: Int] = [:]
    /// What scenarios did, by scenario and kind of action: `{"drop": {"drop": 3}}`.
    package var scenarioActions: [String: [String: Int]] = [:]
}

/// Counts for all connections.
final class Tally: Sendable {
    private let state = Mutex(Statistics())

    var statistics: Statistics { state.withLock { $0 } }

    /// A connection was opened; its number, from 1.
    func connectionOpened() -> Int {
        state.withLock { state in
            state.connections += 1
            return state.connections
        }
    }

    func streamLimitViolated() {
        state.withLock { $0.streamViolations += 1 }
    }

    func scenarioActed(_ scenario: Scenario.Name, _ action: String) {
        state.withLock { $0.scenarioActions[scenario.rawValue, default: [:]][action, default: 0] += 1 }
    }

    func managementRequestArrived(status: Int, reason: String?) {
        state.withLock { state in
            state.managementRequests += 1
            if status >= 400 { state.byReason[reason ?? "", default: 0] += 1 }
        }
    }

    func pushArrived(status: Int, reason: String?) {
        state.withLock { state in
            state.pushes += 1
            switch status {
            case 0: state.unanswered += 1
            case 200: state.accepted += 1
            default: state.byReason[reason ?? "", default: 0] += 1
            }
        }
    }
}
