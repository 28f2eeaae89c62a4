import PushModel
import Synchronization

/// Counts attempts to sign in, and to prove again who one is: who fails too often waits.
///
/// An attempt counts as failed from its begin until it succeeds, so that many at once are no way around the limits. The
/// failures of a name count for each address alone: strangers who try a name make its operator wait only when they are
/// very many.
final class SignInThrottle: Sendable {
    /// Who tries.
    enum Subject: Hashable, Sendable {
        /// Somebody who typed a name.
        case name(String, from: String?)
        /// An operator who is signed in, by the public id of the session.
        case session(String)
        /// Somebody who comes back from a provider.
        case provider(from: String?)
    }

    /// How many failures of a name from one address, or of a session, are taken within ``window``.
    static let limit = 5
    /// How many of an address, whatever the names.
    static let addressLimit = 20
    /// How many of a name, whatever the addresses: too few to guess by.
    static let nameLimit = 100
    /// How long a failure counts.
    static let window: Duration = .seconds(15 * 60)
    /// The most counts that are remembered; of more, those that began longest ago are forgotten.
    private static let size = 10_000

    private struct Failures {
        var count: Int
        var since: Timestamp
    }

    private let failures = Mutex<[String: Failures]>([:])

    /// Counts an attempt; how long it has to wait instead, `nil`: not at all.
    func begin(_ subject: Subject, at now: Timestamp) -> Duration? {
        failures.withLock { failures in
            let keys = Self.keys(subject)
            let waits = keys.compactMap { key, limit -> Duration? in
                guard let found = failures[key], found.count >= limit else { return nil }
                let rest = found.since + Self.window - now
                return rest > .zero ? rest : nil
            }
            if let wait = waits.max() { return wait }
            for (key, _) in keys {
                if let found = failures[key], found.since + Self.window > now {
                    failures[key]?.count += 1
                } else {
                    failures[key] = Failures(count: 1, since: now)
                }
            }
            guard failures.count > Self.size else { return nil }
            let old = failures.sorted { $0.value.since < $1.value.since }.prefix(Self.size / 10)
            for (key, _) in old { failures[key] = nil }
            return nil
        }
    }

    /// Takes back an attempt of which nothing is known.
    func takeBack(_ subject: Subject) {
        failures.withLock { failures in
            for (key, _) in Self.keys(subject) { Self.lower(key, &failures) }
        }
    }

    /// Takes back an attempt that succeeded, and forgets the failures before it of the same name and address, or session.
    func succeeded(_ subject: Subject) {
        failures.withLock { failures in
            for (key, limit) in Self.keys(subject) {
                if limit == Self.limit { failures[key] = nil } else { Self.lower(key, &failures) }
            }
        }
    }

    private static func lower(_ key: String, _ failures: inout [String: Failures]) {
        guard let found = failures[key] else { return }
        failures[key] = found.count > 1 ? Failures(count: found.count - 1, since: found.since) : nil
    }

    private static func keys(_ subject: Subject) -> [(String, Int)] {
        switch subject {
        case .session(let id): return [("s:" + id, limit)]
        case .provider(let address): return [("a:" + (address ?? ""), addressLimit)]
        case .name(let name, let address):
            let name = String(name.prefix(64))
            return [("p:\(address ?? "") \(name)", limit), ("n:" + name, nameLimit)]
                + (address.map { [("a:" + $0, addressLimit)] } ?? [])
        }
    }
}
