/// Why the simulator could not start or go on, in words for the person who started it.
package struct SimulatorError: Error, CustomStringConvertible, Sendable {
    /// What went wrong, and with which file or address.
    package var description: String
    /// Whether another port may help.
    package var concernsAddress: Bool

    init(_ description: String, concernsAddress: Bool = false) {
        self.description = description
        self.concernsAddress = concernsAddress
    }
}
