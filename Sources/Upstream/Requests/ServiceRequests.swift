import HTTP2Client

/// Single requests to a service beside its pushes, such as those for an access token: over one connection of their own,
/// which is dialed with the first and may close when idle.
///
/// Lifecycle: made by ``UpstreamRouter/requests(_:)``; ends with ``close(within:)``, or with the router.
package final class ServiceRequests: Sendable {
    private let pool: any RequestPool

    init(
        _ configuration: UpstreamConfiguration, transport: any RequestTransport
    ) throws(UpstreamConfigurationError) {
        var ofPool = configuration.poolConfiguration
        ofPool.connectionLimit = 1
        ofPool.responseFields = ["retry-after", "date"]
        ofPool.sampledFields = []
        do {
            pool = try transport.openPool(ofPool)
        } catch {
            throw UpstreamConfigurationError(error, in: configuration)
        }
    }

    /// Sends a request and waits for its answer: half a minute at most for a connection, as long again for the answer.
    package func send(
        _ method: String, path: String, fields: PushRequestFields, body: [UInt8] = []
    ) async -> ServiceAnswer {
        let request = Request(
            head: RequestHead(method: method, fields: fields.fields), path: path, fields: [], body: body,
            isUrgent: false)
        return ServiceAnswer(await pool.exchange(request))
    }

    /// Takes no more requests, and closes the connection.
    package func close(within limit: Duration) async {
        await pool.close(within: limit)
    }
}
