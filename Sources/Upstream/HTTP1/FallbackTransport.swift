import HTTP2Client
import Synchronization

/// A transport whose pools send over HTTP/1.1 what goes to a peer without HTTP/2, as the handshake has shown.
final class FallbackTransport: RequestTransport {
    /// Finds the addresses of a host that may be dialed.
    typealias Lookup = @Sendable (PoolConfiguration) async throws(TransportFailure) -> [String]

    private let http2: any RequestTransport
    private let http1: any HTTP1Client
    private let lookup: Lookup
    private let uptime: Uptime
    /// Those that are not closed; `nil` after ``shutdown(within:)``.
    private let pools = Mutex<[ObjectIdentifier: FallbackPool]?>([:])

    init(
        http2: any RequestTransport, http1: any HTTP1Client, lookup: @escaping Lookup, uptime: @escaping Uptime
    ) {
        self.http2 = http2
        self.http1 = http1
        self.lookup = lookup
        self.uptime = uptime
    }

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        // What leads through a proxy, or shows a certificate, is never named by a client and has HTTP/2.
        guard configuration.proxy == nil, configuration.identity == nil else {
            return try http2.openPool(configuration)
        }
        var ofHTTP2 = configuration
        ofHTTP2.leavesWithoutHTTP2 = true
        let pool = FallbackPool(
            try http2.openPool(ofHTTP2), configuration, http1: http1, lookup: lookup, uptime: uptime
        ) { [weak self] pool in
            self?.pools.withLock { _ = $0?.removeValue(forKey: ObjectIdentifier(pool)) }
        }
        let isOpen = pools.withLock { pools in
            pools?[ObjectIdentifier(pool)] = pool
            return pools != nil
        }
        guard isOpen else { throw TransportFailure(.shutdown, "the transport is shut down") }
        return pool
    }

    func shutdown(within limit: Duration) async {
        let open = pools.withLock { pools in
            defer { pools = nil }
            return pools.map { Array($0.values) } ?? []
        }
        await withDiscardingTaskGroup { tasks in
            for pool in open { tasks.addTask { await pool.close(within: limit) } }
        }
        await http2.shutdown(within: limit)
    }
}
