import PushModel
import Store
import Synchronization

/// Active registrations that were looked up lately, by the names that senders use for them.
///
/// A registration is here as of the last commit of this process: each commit takes out what `registration_change` says
/// changed, its own writes and those of others before it. What another process changes while nothing is committed here
/// is noticed within ``lifetime``, as a revoked key is. The times of a registration (`refreshedAt`, `provenAt`) and its
/// app's version are not followed.
final class RegistrationCache: Sendable {
    /// The most registrations, about half a kilobyte each.
    static let limit = 32_768
    /// For so long after the last look at the database what is here counts.
    static let lifetime: Duration = .seconds(1)

    /// What names a registration.
    fileprivate struct CacheKey: Hashable {
        let project: ProjectID
        let reference: RegistrationReference
    }

    private struct State {
        var keys: [CacheKey: RegistrationKey] = [:]
        var registrations: [RegistrationKey: Registration] = [:]
        /// The number of the last change that this knows.
        var number: Int64
        /// When the database was looked at last.
        var lookedAt = ContinuousClock.now

        mutating func removeAll() {
            keys.removeAll(keepingCapacity: true)
            registrations.removeAll(keepingCapacity: true)
        }
    }

    private let state: Mutex<State>

    /// Empty, as of a change.
    init(number: Int64) {
        state = Mutex(State(number: number))
    }

    /// The number of the last change that this knows.
    var number: Int64 { state.withLock { $0.number } }

    /// The registration that a reference names; `nil`: look it up.
    func find(_ reference: RegistrationReference, in project: ProjectID) -> Registration? {
        state.withLock { state in
            guard ContinuousClock.now - state.lookedAt < Self.lifetime,
                let key = state.keys[CacheKey(reference, project)]
            else { return nil }
            return state.registrations[key]
        }
    }

    /// Takes in what a snapshot showed, in which `number` was the last change. What changed since stays out.
    func insert(_ registration: Registration, as reference: RegistrationReference, number: Int64) {
        guard registration.isActive, registration.quarantine == nil else { return }
        state.withLock { state in
            // Behind: it may have changed since. Ahead: another process changed something that is not known here.
            guard number >= state.number else { return }
            if number > state.number {
                state.removeAll()
                state.number = number
            }
            state.lookedAt = .now
            if state.registrations.count >= Self.limit { state.removeAll() }
            state.registrations[registration.key] = registration
            state.keys[CacheKey(reference, registration.project)] = registration.key
        }
    }

    /// Takes out what a commit or those before it changed, up to change `number`.
    func forget(_ changed: RegistrationChanges.Changed?, number: Int64) {
        state.withLock { state in
            state.number = number
            state.lookedAt = .now
            switch changed {
            case .these(let keys): for key in keys { state.registrations[RegistrationKey(rawValue: key)] = nil }
            case .any: state.removeAll()
            case nil: break
            }
            // Names of those that were taken out stay until then.
            if state.keys.count > 2 * Self.limit { state.removeAll() }
        }
    }
}

extension RegistrationCache.CacheKey {
    fileprivate init(_ reference: RegistrationReference, _ project: ProjectID) {
        self.init(project: project, reference: reference)
    }
}
