import PushModel
import Synchronization

/// Counts failed sign-ins by name and by address: who fails too often waits.
final class SignInThrottle: Sendable {
    /// How many failures of a name are taken within ``window``, and of an address.
    static let nameLimit = 5
    static let addressLimit = 20
    /// How long a failure counts.
    static let window: Duration = .seconds(15 * 60)
    /// The most names and addresses that are remembered; of more, those that failed longest ago are forgotten.
    private static let size = 10_000

    private struct Failures {
        var count: Int
        var since: Timestamp
    }

    private let failures = Mutex<[String: Failures]>([:])

    /// How long the name or the address has to wait; `nil`: not at all.
    func wait(name: String, address: String?, at now: Timestamp) -> Duration? {
        failures.withLock { failures in
            Self.keys(name, address).compactMap { key, limit -> Duration? in
                guard let found = failures[key], found.count >= limit else { return nil }
                let rest = found.since + Self.window - now
                return rest > .zero ? rest : nil
            }.max()
        }
    }

    /// Counts a failure.
    func failed(name: String, address: String?, at now: Timestamp) {
        failures.withLock { failures in
            for (key, _) in Self.keys(name, address) {
                if let found = failures[key], found.since + Self.window > now {
                    failures[key] = Failures(count: found.count + 1, since: found.since)
                } else {
                    failures[key] = Failures(count: 1, since: now)
                }
            }
            guard failures.count > Self.size else { return }
            let old = failures.sorted { $0.value.since < $1.value.since }.prefix(Self.size / 10)
            for (key, _) in old { failures[key] = nil }
        }
    }

    /// Forgets the failures of a name that has signed in.
    func succeeded(name: String) {
        failures.withLock { $0["n:" + name] = nil }
    }

    private static func keys(_ name: String, _ address: String?) -> [(String, Int)] {
        [("n:" + String(name.prefix(64)), nameLimit)] + (address.map { [("a:" + $0, addressLimit)] } ?? [])
    }
}
