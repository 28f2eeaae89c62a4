import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOSSL

/// Asks a provider: few requests, each on a connection of its own, with limits of time and size. Redirects are not followed.
struct ProviderClient: Sendable {
    /// What a provider answered.
    struct Answer: Sendable {
        let status: Int
        let json: JSONValue
    }

    /// From the look-up of the name to the end of the answer.
    static let timeout: Duration = .seconds(10)
    /// Of these, for the connection.
    private static let connectTimeout: Duration = .seconds(5)
    /// The most bytes of an answer.
    private static let answerLimitBytes = 512 << 10

    /// A PEM file of authorities; `nil`: those of the system.
    let trustFile: String?
    let proxy: ForwardProxy.Choice
    let clock: any Clock<Duration>
    var timeout = ProviderClient.timeout

    /// Asks for a document.
    func get(_ url: String) async throws(OIDCProblem) -> JSONValue {
        let answer = try await answer(to: HTTPClientRequest(url: url))
        guard answer.status == 200 else {
            throw .unreachable(Self.place(url), reason: "status \(answer.status)")
        }
        return answer.json
    }

    /// Sends a form.
    ///
    /// - Parameter authorization: the header of that name.
    func post(
        _ url: String, _ form: [(String, String)], authorization: String?
    ) async throws(OIDCProblem) -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let authorization { request.headers.add(name: "authorization", value: authorization) }
        let body = form.map { "\($0.urlEncoded)=\($1.urlEncoded)" }.joined(separator: "&")
        request.body = .bytes(ByteBuffer(string: body))
        return try await answer(to: request)
    }

    private func answer(to request: HTTPClientRequest) async throws(OIDCProblem) -> Answer {
        guard let address = WebAddress(request.url) else {
            throw .unreachable(request.url, reason: "it is no URL")
        }
        var request = request
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "user-agent", value: "Herald-Console/1")
        do {
            return try await within(timeout) { [request] in
                try await HTTPClient.withHTTPClient(configuration: configuration(for: address)) { client in
                    let response = try await client.execute(request, timeout: TimeAmount(timeout))
                    let body = try await response.body.collect(upTo: Self.answerLimitBytes)
                    return try Answer(
                        status: Int(response.status.code), json: Self.json(body, status: response.status.code))
                }
            }
        } catch {
            throw .unreachable(Self.place(request.url), reason: Self.reason(error, timeout))
        }
    }

    /// An error may say in words what went wrong; what should be an answer is JSON.
    private static func json(_ body: ByteBuffer, status: UInt) throws -> JSONValue {
        do {
            return try JSONValue(parsing: Array(body.readableBytesView))
        } catch {
            guard status != 200 else { throw error }
            return .null
        }
    }

    private func configuration(for address: WebAddress) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout = .init(connect: TimeAmount(Self.connectTimeout), read: TimeAmount(timeout))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        if let trustFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(trustFile)
            configuration.tlsConfiguration = tls
        }
        configuration.proxy = proxy(address.host, address.port).map { proxy in
            .server(
                host: proxy.host, port: proxy.port,
                authorization: proxy.user.map { .basic(username: $0, password: proxy.password ?? "") })
        }
        return configuration
    }

    private struct TimeIsOver: Error {}

    /// The time-out of a request ends with the head of its answer; this one with the whole of it.
    private func within<Value: Sendable>(
        _ limit: Duration, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await work() }
            group.addTask { [clock] in
                try await clock.sleep(for: limit)
                throw TimeIsOver()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw TimeIsOver() }
            return first
        }
    }

    /// Scheme, host and path: a query may hold a code.
    private static func place(_ url: String) -> String { String(url.prefix { $0 != "?" }.prefix(300)) }

    private static func reason(_ error: any Error, _ timeout: Duration) -> String {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout: "no connection in time"
        case is TimeIsOver: "not within \(timeout.components.seconds) s"
        case let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error):
            "not within \(timeout.components.seconds) s"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: "no TLS: \(String("\(error)".prefix(300)))"
        case is NIOTooManyBytesError: "more than \(answerLimitBytes) bytes"
        case is JSONSyntaxError: "no JSON"
        default: String("\(error)".prefix(300))
        }
    }
}
