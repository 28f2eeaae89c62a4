import Foundation
package import PushModel

/// The gateway that has a store open, as a second one tells it.
package struct GatewayHolder: Hashable, Sendable {
    /// What the process was started as, for example `herald serve`.
    package var command: String
    /// Where it listens, or is about to.
    package var address: String
    /// When it took the store.
    package var since: Timestamp

    /// Describes a gateway of this process.
    package init(command: String, address: String, since: Timestamp) {
        self.command = command
        self.address = address
        self.since = since
    }

    /// One line, with the id of this process.
    package var text: String {
        "\(command), process \(ProcessInfo.processInfo.processIdentifier), on \(address), since \(since.rfc3339)"
    }
}
