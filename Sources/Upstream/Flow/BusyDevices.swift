import PushModel

/// Device tokens that the service called too busy (429 TooManyRequests), and until when each is left alone. The others
/// are not slowed down. A value without clock or I/O.
struct BusyDevices {
    /// The most that are remembered; beyond it a device has only its deliveries' own back-off.
    static let limit = 10_000
    /// After the first refusal, unless the service says otherwise…
    static let firstPause: Duration = .seconds(5)
    /// …doubled with each further one, up to this.
    static let longestPause: Duration = .seconds(900)
    /// No sweep for entries that are over comes sooner after the last one.
    private static let sweepInterval: Duration = .seconds(1)

    private struct Entry {
        /// How long the last pause was.
        var pause: Duration
        var notBefore: Duration

        /// Whether the device was left in peace for so long that it begins anew.
        func isOver(at now: Duration) -> Bool { now >= notBefore + pause }
    }

    private let firstPause: Duration
    private var entries: [Address: Entry] = [:]
    private var sweptAt: Duration?

    /// None are remembered.
    init(firstPause: Duration = BusyDevices.firstPause) {
        self.firstPause = firstPause
    }

    /// Whether nothing is remembered.
    var isEmpty: Bool { entries.isEmpty }
    /// How many are remembered.
    var count: Int { entries.count }

    /// How long a push to the device has to wait; `nil`: not at all.
    func rest(of address: Address, at now: Duration) -> Duration? {
        guard let entry = entries[address], now < entry.notBefore else { return nil }
        return entry.notBefore - now
    }

    /// The device is too busy.
    ///
    /// - Parameter after: what the service asked for; that is kept to, also when it is less than the pause.
    mutating func refused(_ address: Address, after: Duration?, at now: Duration) {
        var pause = firstPause
        if let entry = entries[address] {
            // Pushes that were under way together are one refusal.
            guard now >= entry.notBefore else { return }
            if !entry.isOver(at: now) { pause = min(entry.pause * 2, Self.longestPause) }
        } else if entries.count >= Self.limit {
            sweep(at: now)
            guard entries.count < Self.limit else { return }
        }
        let asked = after.flatMap { $0 > .zero ? $0 : nil }
        entries[address] = Entry(pause: pause, notBefore: now + (asked ?? pause))
    }

    /// The device took a push.
    mutating func passed(_ address: Address, at now: Duration) {
        guard let entry = entries[address], now >= entry.notBefore else { return }
        entries[address] = nil
    }

    /// Forgets those that are over; called now and then.
    mutating func sweep(at now: Duration) {
        if let sweptAt, now - sweptAt < Self.sweepInterval { return }
        sweptAt = now
        entries = entries.filter { !$0.value.isOver(at: now) }
    }
}
