/// Which address is tried when, as a value: RFC 8305 ("happy eyeballs") in short. No I/O, no clock.
///
/// The families take turns, so that a broken IPv6 or IPv4 costs one delay and not one for each of its addresses. An
/// attempt that does not answer goes on while the next one begins beside it; the first TCP connection that stands is
/// taken.
struct AddressRace {
    /// Where the race stands.
    fileprivate enum RacePhase {
        /// Next: running.
        case ready
        /// These attempts are under way. Next: over.
        case running(Set<Int>)
        /// Next: nothing.
        case over
    }

    /// What to do after an event.
    enum RaceAction: Equatable {
        /// Nothing.
        case wait
        /// Begin an attempt. ``AddressRace/delayPassed()`` is due a delay later, counted from now.
        case attempt(Int, SocketAddress)
        /// Take the connection of this attempt, close the others.
        case take(Int)
        /// No address is left.
        case giveUp
    }

    /// The most addresses tried in one race, and so the most sockets at a time.
    static let limit = 16

    /// In the order of the attempts, which are numbered by it.
    let addresses: [SocketAddress]
    private var next = 0
    private var phase = RacePhase.ready

    /// - Parameters:
    ///   - found: the addresses in the order of the name lookup, which is the system's order of preference.
    ///   - rotation: the number of the dial: each begins with another address of a family, so that connections spread.
    ///     Which family comes first stays as it was found.
    init(_ found: [SocketAddress], rotation: Int) {
        var families: [Int32] = []
        var members: [Int32: [SocketAddress]] = [:]
        for address in found where members[address.family]?.contains(address) != true {
            if members[address.family] == nil { families.append(address.family) }
            members[address.family, default: []].append(address)
        }
        for (family, list) in members {
            let first = rotation % list.count
            members[family] = Array(list[first...] + list[..<first])
        }
        let longest = members.values.map(\.count).max() ?? 0
        var order: [SocketAddress] = []
        for index in 0..<longest {
            for family in families {
                if let list = members[family], index < list.count { order.append(list[index]) }
            }
        }
        addresses = Array(order.prefix(Self.limit))
    }

    /// Whether another attempt would follow after a delay.
    var hasUntried: Bool { next < addresses.count }

    /// The race begins.
    mutating func start() -> RaceAction {
        switch phase {
        case .ready:
            phase = .running([])
            return attemptNext()
        case .running, .over: preconditionFailure("a race begins once, not while \(phase)")
        }
    }

    /// The newest attempt has been under way for the whole delay.
    mutating func delayPassed() -> RaceAction {
        switch phase {
        case .running: hasUntried ? attemptNext() : .wait
        case .over: .wait
        case .ready: preconditionFailure("a delay passed before the race began")
        }
    }

    /// TCP failed; the next attempt does not wait for the delay.
    mutating func attemptFailed(_ number: Int) -> RaceAction {
        switch phase {
        case .running(var attempts):
            precondition(attempts.remove(number) != nil, "attempt \(number) failed, which is not under way")
            phase = .running(attempts)
            if hasUntried { return attemptNext() }
            guard attempts.isEmpty else { return .wait }
            phase = .over
            return .giveUp
        case .ready, .over: preconditionFailure("attempt \(number) failed while \(phase)")
        }
    }

    /// TCP stands.
    mutating func attemptConnected(_ number: Int) -> RaceAction {
        switch phase {
        case .running(let attempts):
            precondition(attempts.contains(number), "attempt \(number) stands, which is not under way")
            phase = .over
            return .take(number)
        case .ready, .over: preconditionFailure("attempt \(number) stands while \(phase)")
        }
    }

    private mutating func attemptNext() -> RaceAction {
        guard case .running(let attempts) = phase, hasUntried else {
            phase = .over
            return .giveUp
        }
        let number = next
        next += 1
        phase = .running(attempts.union([number]))
        return .attempt(number, addresses[number])
    }
}
