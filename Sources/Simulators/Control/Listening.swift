import NIOCore
import NIOPosix

/// Listens on a TCP port.
///
/// - Parameter setUp: prepares an accepted connection.
/// - Throws: ``SimulatorError`` when the address can't be had.
func listen(
    _ host: String, _ port: Int, _ setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
) async throws -> any Channel {
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer(setUp)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    do {
        return try await bootstrap.bind(host: host, port: port).get()
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
        throw SimulatorError(
            "\(host):\(port) is in use; choose another port or stop what listens there", concernsAddress: true)
    } catch {
        throw SimulatorError("cannot listen on \(host):\(port): \(error)", concernsAddress: true)
    }
}
