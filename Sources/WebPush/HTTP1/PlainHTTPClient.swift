import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PushModel
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

    private let client: HTTPClient
    private let origin: String

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
        case is NIOSSLExtraError: .notSent(.tlsFailed, "\(error)")
        case NIOSSLError.handshakeFailed: .notSent(.tlsFailed, "\(error)")
        case is CancellationError: .unanswered(.shutdown, "the pool is closed")
        case let error as HTTPClientError where error == .cancelled: .unanswered(.shutdown, "the pool is closed")
        case let error as HTTPClientError where error == .readTimeout || error == .deadlineExceeded:
            .unanswered(.timedOut, "\(error)")
        default: .unanswered(.connectionLost, "\(error)")
        }
    }

    func close() async {
        do {
            try await client.shutdown()
        } catch {
            // A second call; and what is still under way has its end.
        }
    }
}
