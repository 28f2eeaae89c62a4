package import HTTP2Client

/// What the sender needs of the HTTP/2 engine; unit tests put a scripted peer here.
package protocol RequestTransport: Sendable {
    /// Opens a pool; nothing is dialed before the first request.
    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool

    /// Closes all pools, then ends the engine. Idempotent.
    func shutdown(within limit: Duration) async
}

/// What the sender needs of a pool, by the contract of ``ConnectionPool``.
package protocol RequestPool: Sendable {
    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void) async
    func close(within limit: Duration) async
    func recycleConnections()
    func setFields(_ fields: [HeaderField])
    func windDown()
    func reconsider()
    func setConnectionLimit(_ limit: Int)
    var statistics: PoolStatistics { get }
}

extension ConnectionPool: RequestPool {}

/// The engine itself.
struct EngineTransport: RequestTransport {
    let engine: HTTP2Engine

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        try engine.openPool(configuration)
    }

    func shutdown(within limit: Duration) async {
        await engine.shutdown(within: limit)
    }
}
