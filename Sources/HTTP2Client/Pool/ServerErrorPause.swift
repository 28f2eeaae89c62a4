/// When a connection that answers nothing but 500 may be replaced. A value; the time is a parameter.
///
/// Where one connection is at fault the next one works; where the peer is, new connections do no good, and many of them
/// look like an attack. So the pause doubles with each replacement that does not help, up to ``ceiling``: with the usual
/// 30 seconds that is 5 connections in the first ten minutes, and then one every ten.
struct ServerErrorPause {
    /// The longest pause, unless the shortest is longer.
    static let ceiling: Duration = .seconds(600)

    private let floor: Int64
    /// The pause that began last; 0: no replacement since one that helped.
    private var length: Int64 = 0
    private var next = Instant(nanoseconds: .min)
    private var replacedAt = Instant(nanoseconds: .min)

    /// - Parameter floor: the first pause.
    init(floor: Duration) {
        self.floor = max(1, floor.wholeNanoseconds)
    }

    /// Whether a replacement is not known to have helped.
    var isGrowing: Bool { length > 0 }

    /// Whether a connection may be replaced now; takes the turn.
    mutating func take(at now: Instant) -> Bool {
        guard now >= next else { return false }
        length = length == 0 ? floor : max(floor, min(length * 2, Self.ceiling.wholeNanoseconds))
        next = now.adding(nanoseconds: length)
        replacedAt = now
        return true
    }

    /// A connection that was dialed then answers with something else: if that was after the replacement, it has helped.
    mutating func helped(dialedAt time: Instant) {
        if time >= replacedAt { length = 0 }
    }
}
