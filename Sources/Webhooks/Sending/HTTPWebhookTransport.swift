import AsyncHTTPClient
import Delivery
import Foundation
package import IPAddresses
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import PushModel
package import Store

/// Makes requests with AsyncHTTPClient. For each request the host's name is looked up, every address it has is checked, and
/// the connection goes to one that was checked: a name that leads elsewhere a moment later gains nothing. TLS is spoken with
/// the name. Redirects are not followed, and no proxy of the environment is asked; one that is configured is asked for a tunnel
/// to the address that was checked.
///
/// Safe to share. ``shutdown()`` closes all connections.
package actor HTTPWebhookTransport: WebhookTransport {
    /// From the look-up to the end of the answer.
    package static let timeout: Duration = .seconds(15)
    /// Of these, for the connection.
    static let connectTimeout: Duration = .seconds(5)
    /// The most bytes that are read of an answer.
    static let answerLimitBytes = 8 << 10
    /// An idle connection is closed before usual receivers do that: a request on one that they close just then would fail.
    private static let idleTimeout: Duration = .seconds(4)

    /// Looks a name up for a project; ends early when the task is cancelled.
    package typealias Lookup =
        @Sendable (_ host: String, _ project: ProjectID) async -> Result<[IPAddress], WebhookLookupFailure>

    /// The client of an endpoint: the address that its name leads to is among its settings. Of this actor alone.
    private final class Pinned {
        let host: String
        let address: IPAddress
        let client: HTTPClient
        /// Requests under way: the client is closed after the last one.
        var uses = 0
        var isRetired = false
        var isClosed = false

        init(host: String, address: IPAddress, client: HTTPClient) {
            (self.host, self.address, self.client) = (host, address, client)
        }
    }

    private let policy: WebhookPolicy
    private let lookup: Lookup
    /// `nil`: connections go to receivers directly.
    private let proxy: WebhookProxy?
    private let wallTime: WallTime
    private let userAgent: String
    private let timeout: Duration
    private let logger: Logger
    private var clients: [WebhookID: Pinned] = [:]
    /// Endpoints to whose address there was no connection the last time: the next one is tried.
    private var failedConnects: Set<WebhookID> = []

    /// Prepares a transport. Receivers' certificates are checked with the authorities of the system.
    package init(
        policy: WebhookPolicy, lookup: @escaping Lookup, proxy: WebhookProxy? = nil,
        userAgent: String = "Herald-Webhooks/1",
        timeout: Duration = HTTPWebhookTransport.timeout, wallTime: @escaping WallTime, logger: Logger
    ) {
        self.policy = policy
        self.lookup = lookup
        self.proxy = proxy
        self.wallTime = wallTime
        self.userAgent = userAgent
        self.timeout = timeout
        self.logger = logger
    }

    /// Looks the URL's name up, checks where it leads, and asks there.
    package func send(_ request: WebhookRequest) async -> WebhookAnswer {
        let limit = timeout
        return await withTaskGroup(of: WebhookAnswer.self) { group in
            group.addTask { await self.answer(to: request) }
            group.addTask {
                // Cancelled when the answer came first.
                await ContinuousClock().pause(limit)
                return WebhookAnswer(.timeout, "No answer within \(limit.components.seconds) s.")
            }
            let first = await group.next() ?? WebhookAnswer(.timeout, "")
            group.cancelAll()
            return first
        }
    }

    private func answer(to request: WebhookRequest) async -> WebhookAnswer {
        do throws(WebhookURLProblem) {
            let url = try WebhookURL(request.url, policy)
            try checkName(in: url)
            let found: [IPAddress]
            switch await addresses(of: url, for: request.project) {
            case .success(let addresses): found = addresses
            case .failure(let failure): return WebhookAnswer(.lookup, failure.message)
            }
            try policy.check(found, port: url.port)
            return await ask(request, url, at: address(of: request.endpoint, host: url.host, among: found))
        } catch {
            return WebhookAnswer(.refused, error.message)
        }
    }

    /// In a tunnel the client has the proxy's name or address beside the receiver's name: it can't check a certificate against
    /// the receiver's address.
    private func checkName(in url: WebhookURL) throws(WebhookURLProblem) {
        guard proxy != nil, url.isSecure, let literal = url.literal else { return }
        throw WebhookURLProblem(
            .addressLiteral,
            "The URL names the address \(literal), against which no certificate is checked through webhooks.proxy; give the "
                + "name of a host.")
    }

    private func addresses(
        of url: WebhookURL, for project: ProjectID
    ) async -> Result<[IPAddress], WebhookLookupFailure> {
        if let literal = url.literal { return .success([literal]) }
        let found = await lookup(url.host, project)
        if case .success(let addresses) = found, addresses.isEmpty {
            return .failure(WebhookLookupFailure("The name \(url.host) has no address."))
        }
        return found
    }

    /// The address that is asked: the one of before while it is among those that were checked, however name servers turn
    /// their order; after a connection that failed the one behind it.
    private func address(of endpoint: WebhookID, host: String, among found: [IPAddress]) -> IPAddress {
        guard let former = clients[endpoint], former.host == host else { return found[0] }
        guard failedConnects.contains(endpoint) else {
            return found.contains(former.address) ? former.address : found[0]
        }
        let order = found.sorted { $0.description < $1.description }
        return order.first { former.address.description < $0.description } ?? order[0]
    }

    /// Whether the client finds the address of `host` among its settings when it is asked for a URL. It compares the text
    /// of the host, letter by letter, and looks a name up by itself that it does not find.
    static func isPinned(_ url: String, to host: String) -> Bool {
        let named = URL(string: url)?.host
        return named == host || named == "[\(host)]"
    }

    private func ask(_ request: WebhookRequest, _ url: WebhookURL, at address: IPAddress) async -> WebhookAnswer {
        guard Self.isPinned(url.normalText, to: url.host) else {
            return WebhookAnswer(.refused, "The URL's host can be read in more than one way.")
        }
        let (pinned, former) = pin(request.endpoint, host: url.host, at: address)
        pinned.uses += 1
        if let former { await retire(former) }
        let answer = await send(request, url, with: pinned.client)
        if answer.failure == .connect {
            failedConnects.insert(request.endpoint)
        } else {
            failedConnects.remove(request.endpoint)
        }
        pinned.uses -= 1
        await closeIfUnused(pinned)
        return answer
    }

    private func send(_ request: WebhookRequest, _ url: WebhookURL, with client: HTTPClient) async -> WebhookAnswer {
        var message = HTTPClientRequest(url: url.normalText)
        message.method = .POST
        message.headers.add(name: "content-type", value: "application/json; charset=utf-8")
        message.headers.add(name: "user-agent", value: userAgent)
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        message.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let response = try await client.execute(message, timeout: TimeAmount(timeout))
            let text = try await Self.beginning(of: response.body)
            return WebhookAnswer(
                status: Int(response.status.code),
                retryAfter: RetryAfter.duration(response.headers.first(name: "retry-after"), at: wallTime()),
                text: text)
        } catch {
            return WebhookAnswer(error)
        }
    }

    /// Reads what is kept of an answer. Of a long one the rest is not read: the connection is closed.
    private static func beginning(of body: HTTPClientResponse.Body) async throws -> String? {
        var bytes: [UInt8] = []
        var count = 0
        for try await part in body {
            count += part.readableBytes
            bytes += part.readableBytesView.prefix(WebhookAttempt.answerLimitBytes - bytes.count)
            if count >= answerLimitBytes { break }
        }
        // A character that was cut in two is no harm.
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// The client of an endpoint. One of another host or address ends with its last request: a test beside a delivery cuts
    /// nothing.
    private func pin(_ endpoint: WebhookID, host: String, at address: IPAddress) -> (Pinned, former: Pinned?) {
        if let pinned = clients[endpoint], pinned.host == host, pinned.address == address { return (pinned, nil) }
        let pinned = Pinned(host: host, address: address, client: client(of: host, at: address))
        return (pinned, clients.updateValue(pinned, forKey: endpoint))
    }

    private func client(of host: String, at address: IPAddress) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: TimeAmount(Self.connectTimeout), read: TimeAmount(timeout))
        configuration.connectionPool.idleTimeout = TimeAmount(Self.idleTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.dnsOverride = [host: address.description]
        // With the address in place of the name: that is what the tunnel leads to.
        configuration.proxy = proxy.map { proxy in
            .server(
                host: proxy.host, port: proxy.port,
                authorization: proxy.user.map { .basic(username: $0, password: proxy.password ?? "") })
        }
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Endpoints for which a client is kept.
    var clientCount: Int { clients.count }

    package func keep(_ endpoints: Set<WebhookID>) async {
        failedConnects.formIntersection(endpoints)
        let gone = clients.filter { !endpoints.contains($0.key) }
        for (endpoint, pinned) in gone {
            clients[endpoint] = nil
            pinned.isRetired = true
        }
        for pinned in gone.values { await closeIfUnused(pinned) }
    }

    /// Closes all connections. Idempotent.
    package func shutdown() async {
        let all = clients
        clients = [:]
        for pinned in all.values where !pinned.isClosed {
            pinned.isClosed = true
            await close(pinned.client)
        }
    }

    private func retire(_ pinned: Pinned) async {
        pinned.isRetired = true
        await closeIfUnused(pinned)
    }

    private func closeIfUnused(_ pinned: Pinned) async {
        guard pinned.isRetired, pinned.uses == 0, !pinned.isClosed else { return }
        pinned.isClosed = true
        await close(pinned.client)
    }

    private func close(_ client: HTTPClient) async {
        do {
            try await client.shutdown()
        } catch {
            logger.debug("Connections of a webhook not closed", metadata: ["error": "\(type(of: error))"])
        }
    }
}

/// Why a name has no address.
package struct WebhookLookupFailure: Error, Hashable, Sendable {
    /// In words.
    package let message: String

    /// Describes a failure.
    package init(_ message: String) {
        self.message = message
    }
}

extension WebhookAnswer {
    /// What the client's error says of the receiver.
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as HTTPClientError where Self.timeouts.contains(error):
            self.init(error == .connectTimeout ? .connect : .timeout, "No answer in time.")
        case is CancellationError: self.init(.timeout, "The gateway stopped, or the time was over.")
        case let error as HTTPClientError where error == .cancelled:
            self.init(.timeout, "The gateway stopped, or the time was over.")
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            self.init(.reset, "The connection was closed before the end of the answer.")
        case let error as HTTPClientError where Self.proxyProblems.contains(error):
            self.init(.connect, "The proxy made no connection: \(error.shortDescription)")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.tls, "No TLS connection: \(String("\(error)".prefix(200)))")
        case is NIOConnectionError: self.init(.connect, "No connection.")
        case is HTTPParserError: self.init(.notHTTP, "The answer is not HTTP.")
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            self.init(.connect, "The connection was refused.")
        case is IOError, is ChannelError: self.init(.reset, "The connection broke.")
        default: self.init(.reset, "The request failed: \(type(of: error)).")
        }
    }

    private static let proxyProblems: [HTTPClientError] = [
        .invalidProxyResponse, .proxyAuthenticationRequired, .httpProxyHandshakeTimeout,
    ]

    private static let timeouts: [HTTPClientError] = [
        .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout, .tlsHandshakeTimeout,
        .getConnectionFromPoolTimeout,
    ]
}
