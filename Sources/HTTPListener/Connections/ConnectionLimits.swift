/// How many connections a listener takes.
package struct ConnectionLimits: Hashable, Sendable {
    /// In all; at least 1.
    package var total: Int
    /// From one address, of IPv6 from one network of 64 bits; `nil`: as many as in all.
    package var perAddress: Int?

    /// Puts limits together.
    package init(total: Int = 10_000, perAddress: Int? = nil) {
        self.total = total
        self.perAddress = perAddress
    }
}
