package import NIOCore

/// Those connections of a listener that proved a credential of a backend: they may be idle for longer, and keep their place
/// at a limit.
package struct ProvenConnections: Sendable {
    private let connections: OpenConnections

    /// Those of a listener's connections.
    init(_ connections: OpenConnections) {
        self.connections = connections
    }

    /// Counts a connection, or that of a stream of HTTP/2, among them.
    package func insert(_ channel: any Channel) { connections.prove(channel) }
}
