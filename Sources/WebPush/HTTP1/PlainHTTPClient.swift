import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PushModel
import Synchronization
import Upstream

/// Sends to push services without HTTP/2, by AsyncHTTPClient: the few servers that people run themselves.
struct PlainHTTPClient: HTTP1Client {
    func open(_ place: HTTP1Place) -> any HTTP1Connections { PlainHTTPConnections(to: place) }
}

/// A client for one place: only the address that was checked is dialed, no redirect is followed.
private final class PlainHTTPConnections: HTTP1Connections {
    /// From the hand-over to the end of the answer.
    private static let timeLimit: TimeAmount = .seconds(30)
    /// Longer bodies of answers are cut off.
    private static let bodyLimitBytes = 4096

    /// How many requests are under way, and whether no other will come.
    private struct Use {
        var count = 0
        var isClosing = false
    }

    private let client: HTTPClient
    private let origin: String
    private let use = Mutex(Use())

    init(to place: HTTP1Place) {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let trustFile = place.trustFile { tls.trustRoots = .file(trustFile) }
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(10), read: Self.timeLimit), decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.dnsOverride = [place.host: place.address]
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = place.connectionLimit
        // The upstream decides when the next one is dialed.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let host = place.host.contains(":") ? "[\(place.host)]" : place.host
        origin = place.port == 443 ? "https://\(host)" : "https://\(host):\(place.port)"
    }

    func send(_ request: HTTP1Request) async -> HTTP1Answer {
        let isOpen = use.withLock { use in
            guard !use.isClosing || use.count > 0 else { return false }
            use.count += 1
            return true
        }
        guard isOpen else { return .notSent(.shutdown, "the connections were closed") }
        let answer = await exchange(request)
        let isLast = use.withLock { use in
            use.count -= 1
            return use.isClosing && use.count == 0
        }
        if isLast { await shutdown() }
        return answer
    }

    private func exchange(_ request: HTTP1Request) async -> HTTP1Answer {
        var outgoing = HTTPClientRequest(url: origin + request.path)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for field in request.fields { outgoing.headers.add(name: field.name, value: field.value) }
        outgoing.body = .bytes(request.body)
        do {
            let response = try await client.execute(outgoing, deadline: .now() + Self.timeLimit)
            var body: [UInt8] = []
            for try await piece in response.body {
                body += piece.readableBytesView.prefix(Self.bodyLimitBytes - body.count)
                if body.count >= Self.bodyLimitBytes { break }
            }
            let fields = response.headers.map { (name: $0.name.lowercased(), value: $0.value) }
            return .answered(status: Int(response.status.code), fields: fields, body: body)
        } catch {
            return Self.failure(error)
        }
    }

    /// What is known to have failed before anything was sent, and everything else, which may have been sent.
    private static func failure(_ error: any Error) -> HTTP1Answer {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout: .notSent(.connectFailed, "\(error)")
        case is NIOConnectionError: .notSent(.connectFailed, "\(error)")
        case let error as IOError where [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode):
            .notSent(.connectFailed, "\(error)")
        case let error as HTTPClientError
        where [.tlsHandshakeTimeout, .alreadyShutdown, .invalidURL, .getConnectionFromPoolTimeout].contains(error):
            .notSent(.connectFailed, "\(error)")
        case is NIOSSLExtraError: .notSent(.tlsFailed, "\(error)")
        case NIOSSLError.handshakeFailed: .notSent(.tlsFailed, "\(error)")
        case is CancellationError: .unanswered(.shutdown, "the pool is closed")
        case let error as HTTPClientError where error == .cancelled: .unanswered(.shutdown, "the pool is closed")
        case let error as HTTPClientError where error == .readTimeout || error == .deadlineExceeded:
            .unanswered(.timedOut, "\(error)")
        default: .unanswered(.connectionLost, "\(error)")
        }
    }

    /// AsyncHTTPClient would cut off what is under way: the last request closes the connections.
    func close() async {
        let isIdle = use.withLock { use in
            defer { use.isClosing = true }
            return !use.isClosing && use.count == 0
        }
        if isIdle { await shutdown() }
    }

    private func shutdown() async {
        do {
            try await client.shutdown()
        } catch {
            // A second call; and what is still under way has its end.
        }
    }
}
