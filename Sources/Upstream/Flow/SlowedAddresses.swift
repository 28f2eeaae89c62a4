import PushModel

/// Whether answers that slow a sender down are about it, or about the one address that gets them: many services say neither.
/// They are about the sender once two addresses got one within a minute. A value without clock or I/O.
struct SlowedAddresses {
    /// How far back answers count.
    static let window: Duration = .seconds(60)

    private var last: (address: Address, at: Duration)?
    /// The last one of another address than that.
    private var other: (address: Address, at: Duration)?

    /// An address was answered so: whether that is about the sender.
    mutating func isOfSender(_ address: Address, at now: Duration) -> Bool {
        if let last, last.address != address { other = last }
        last = (address, now)
        return other.map { now - $0.at < Self.window } ?? false
    }
}
