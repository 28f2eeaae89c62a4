import AsyncHTTPClient
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
/// the name. Redirects are not followed, and no proxy of the environment is asked.
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

    /// The client of an endpoint: the addresses that names lead to are its settings.
    private struct Pinned {
        let host: String
        let address: IPAddress
        let client: HTTPClient
    }

    private let policy: WebhookPolicy
    private let lookup: Lookup
    private let wallTime: WallTime
    private let userAgent: String
    private let trustedAuthorities: [NIOSSLCertificate]?
    private let timeout: Duration
    private let logger: Logger
    private var clients: [WebhookID: Pinned] = [:]
    /// How often connecting to an endpoint failed in a row: it has as many other addresses to try.
    private var failedConnects: [WebhookID: Int] = [:]

    /// Prepares a transport.
    ///
    /// - Parameters:
    ///   - authorityFile: PEM certificates that receivers' certificates are signed with; `nil`: those of the system.
    package init(
        policy: WebhookPolicy, lookup: @escaping Lookup, authorityFile: String? = nil,
        userAgent: String = "Herald-Webhooks/1",
        timeout: Duration = HTTPWebhookTransport.timeout, wallTime: @escaping WallTime, logger: Logger
    ) throws {
        self.policy = policy
        self.lookup = lookup
        self.wallTime = wallTime
        self.userAgent = userAgent
        self.timeout = timeout
        self.logger = logger
        trustedAuthorities = try authorityFile.map { try NIOSSLCertificate.fromPEMFile($0) }
    }

    /// Looks the URL's name up, checks where it leads, and asks there.
    package func send(_ request: WebhookRequest) async -> WebhookAnswer {
        let limit = timeout
        return await withTaskGroup(of: WebhookAnswer.self) { group in
            group.addTask { await self.answer(to: request) }
            group.addTask {
                // Cancelled when the answer came first.
                try? await Task.sleep(for: limit)
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
            let found: [IPAddress]
            switch await addresses(of: url, for: request.project) {
            case .success(let addresses): found = addresses
            case .failure(let failure): return WebhookAnswer(.lookup, failure.message)
            }
            try policy.check(found, port: url.port)
            let index = failedConnects[request.endpoint, default: 0] % found.count
            return await ask(request, url, at: found[index])
        } catch {
            return WebhookAnswer(.refused, error.message)
        }
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
        let client = await client(of: request.endpoint, host: url.host, at: address)
        var message = HTTPClientRequest(url: url.normalText)
        message.method = .POST
        message.headers.add(name: "content-type", value: "application/json; charset=utf-8")
        message.headers.add(name: "user-agent", value: userAgent)
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        message.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let response = try await client.execute(message, timeout: TimeAmount(timeout))
            failedConnects[request.endpoint] = nil
            let text = try await Self.beginning(of: response.body)
            return WebhookAnswer(
                status: Int(response.status.code),
                retryAfter: RetryAfter.duration(response.headers.first(name: "retry-after"), at: wallTime()),
                text: text)
        } catch {
            let answer = WebhookAnswer(error)
            if answer.failure == .connect { failedConnects[request.endpoint, default: 0] += 1 }
            return answer
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

    private func client(of endpoint: WebhookID, host: String, at address: IPAddress) async -> HTTPClient {
        if let pinned = clients[endpoint] {
            if pinned.host == host, pinned.address == address { return pinned.client }
            clients[endpoint] = nil
            await close(pinned.client)
            // Another request of the endpoint may have made one meanwhile: a test beside a delivery.
            if let other = clients[endpoint], other.host == host, other.address == address { return other.client }
        }
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: TimeAmount(Self.connectTimeout), read: TimeAmount(timeout))
        configuration.connectionPool.idleTimeout = TimeAmount(Self.idleTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.dnsOverride = [host: address.description]
        if let trustedAuthorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(trustedAuthorities)
            configuration.tlsConfiguration = tls
        }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        if let other = clients.updateValue(Pinned(host: host, address: address, client: client), forKey: endpoint) {
            await close(other.client)
        }
        return client
    }

    package func forget(_ endpoint: WebhookID) async {
        failedConnects[endpoint] = nil
        guard let pinned = clients.removeValue(forKey: endpoint) else { return }
        await close(pinned.client)
    }

    /// Closes all connections. Idempotent.
    package func shutdown() async {
        let all = clients
        clients = [:]
        for pinned in all.values { await close(pinned.client) }
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

    private static let timeouts: [HTTPClientError] = [
        .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout, .tlsHandshakeTimeout,
        .getConnectionFromPoolTimeout,
    ]
}
