import ArgumentParser
import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PushModel
import Synchronization

/// `--gateway`, `--ca`, `--key`, `--project`, or the environment.
struct GatewayOptions: ParsableArguments {
    @Option(help: "The gateway's address (HERALD_GATEWAY, or http://127.0.0.1:8080).")
    var gateway: String?

    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities in this PEM file and no others (HERALD_CA).", valueName: "file"))
    var ca: String?

    @Option(help: "An API key (HERALD_KEY; the variable keeps it out of the process list).")
    var key: String?

    @Option(help: "The project (HERALD_PROJECT).")
    var project: ProjectID?

    /// A client for these options.
    func client(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) -> GatewayClient {
        guard let key = try Self.setting(key, "--key", "HERALD_KEY", environment)?.text else {
            throw Failure(.usage, "an API key is needed; give --key or set HERALD_KEY (herald key create makes one)")
        }
        guard let name = try Self.setting(project?.rawValue, "--project", "HERALD_PROJECT", environment) else {
            throw Failure(.usage, "a project is needed; give --project or set HERALD_PROJECT")
        }
        guard let project = ProjectID(rawValue: name.text) else {
            throw Failure(.usage, "\(name.source) \"\(Table.safe(name.text))\" is no project; use its id, such as demo")
        }
        let address = try Self.setting(gateway, "--gateway", "HERALD_GATEWAY", environment)
        var base = address?.text ?? "http://127.0.0.1:8080"
        while base.hasSuffix("/") { base.removeLast() }
        guard let url = URL(string: base), let scheme = url.scheme, ["http", "https"].contains(scheme),
            url.host() != nil
        else {
            let source = address?.source ?? "--gateway"
            throw Failure(
                .usage, "\(source) \"\(Table.safe(base))\" is not an address; write it like http://127.0.0.1:8080")
        }
        let ca = (ca ?? environment["HERALD_CA"]).flatMap { $0.isEmpty ? nil : $0 }
        return GatewayClient(base: base, key: key, project: project, caFile: ca)
    }

    /// What an option says, or the variable behind it, and which of them it is; `nil`: neither is there.
    ///
    /// - Throws: when it is there and empty.
    private static func setting(
        _ given: String?, _ option: String, _ variable: String, _ environment: [String: String]
    ) throws(Failure) -> (text: String, source: String)? {
        guard let text = given ?? environment[variable] else { return nil }
        let source = given == nil ? variable : option
        guard !text.isEmpty else { throw Failure(.usage, "\(source) is empty; give it a value, or leave it out") }
        return (text, source)
    }
}

/// Talks to a gateway's API; what it refuses ends as a ``Failure`` with the gateway's own words.
struct GatewayClient: Sendable {
    /// The address without a slash at the end.
    let base: String
    /// The API key.
    let key: String
    /// The project.
    let project: ProjectID
    /// The authorities that sign the gateway's certificate; `nil`: those of this machine.
    var caFile: String?

    /// The most bytes of an answer: a page of an export.
    private static let answerLimitBytes = 256 << 20

    /// One for the process and each file of authorities, like the shared one, which would try to connect again for a
    /// minute.
    private static let clients = Mutex<[String?: HTTPClient]>([:])

    private static func http(trusting caFile: String?) throws(Failure) -> HTTPClient {
        if let client = clients.withLock({ $0[caFile] }) { return client }
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        if let caFile { configuration.tlsConfiguration = try tls(trusting: caFile) }
        return clients.withLock { [configuration] clients in
            if let client = clients[caFile] { return client }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            clients[caFile] = client
            return client
        }
    }

    private static func tls(trusting caFile: String) throws(Failure) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        do {
            let authorities = try NIOSSLCertificate.fromPEMFile(caFile)
            guard !authorities.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            configuration.trustRoots = .certificates(authorities)
        } catch {
            throw Failure(.usage, "\(caFile): no PEM certificates that can be read; --ca takes those of authorities")
        }
        return configuration
    }

    /// An answer of success.
    struct Answer {
        var body: [UInt8]
        var nextPageToken: String?

        /// The body as JSON.
        func json() throws(Failure) -> JSONValue {
            do {
                return try JSONValue(parsing: body)
            } catch {
                throw Failure(.unavailable, "the answer is not JSON; is that a Herald gateway?")
            }
        }

        /// The body as text.
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Asks, below `/v1/projects/<project>/`.
    func project(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [], body: JSONValue? = nil,
        headers: [(String, String)] = []
    ) async throws(Failure) -> Answer {
        try await send(method, "/v1/projects/\(project)/\(path)", query: query, body: body, headers: headers)
    }

    /// Asks where the project is the key's, which is refused unless it is ``project``.
    func link(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [], body: JSONValue? = nil
    ) async throws(Failure) -> Answer {
        try await send(
            method, "/v1/" + path, query: query, body: body, headers: [("x-herald-project", project.rawValue)])
    }

    /// Asks.
    func send(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [], body: JSONValue? = nil,
        headers: [(String, String)] = []
    ) async throws(Failure) -> Answer {
        let pairs = query.map { "\(Self.escaped($0.0))=\(Self.escaped($0.1))" }
        var request = HTTPClientRequest(url: base + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")))
        request.method = method
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "user-agent", value: "herald-cli")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let http = try Self.http(trusting: caFile)
        let response: HTTPClientResponse
        let bytes: ByteBuffer
        do {
            response = try await http.execute(request, timeout: .seconds(60))
            bytes = try await response.body.collect(upTo: Self.answerLimitBytes)
        } catch {
            throw Failure(.unavailable, "can't reach \(base): \(Self.reason(error))")
        }
        let answer = Answer(
            body: Array(bytes.readableBytesView), nextPageToken: response.headers.first(name: "x-next-page-token"))
        guard (200..<300).contains(response.status.code) else {
            throw Self.refusal(
                status: Int(response.status.code), body: answer.body,
                requestID: response.headers.first(name: "x-request-id"))
        }
        return answer
    }

    /// The failure for an answer that is none of success: the gateway's text, then what else it says of the cause, and on
    /// a line of its own what to do.
    ///
    /// - Parameter requestID: the answer's `X-Request-Id`, which the gateway's log has too.
    static func refusal(status: Int, body: [UInt8], requestID: String? = nil) -> Failure {
        var message = "the gateway answered \(status)"
        var facts: [String] = []
        var hint: String?
        do {
            let error = try JSONValue(parsing: body)["error"]
            // The Instance ID API and device groups have a bare text for an error.
            if let text = error?["message"]?.stringValue ?? error?.stringValue {
                let name = error?["status"]?.stringValue.map { " \($0)" } ?? ""
                message += "\(name): \(Table.safe(text))"
            }
            let cause = error?["details"]?.elements.last { detail in
                detail["@type"] == .string("type.googleapis.com/herald.v1.ErrorInfo")
            }
            if let reason = cause?["reason"]?.stringValue { facts.append(reason) }
            if let field = cause?["field"]?.stringValue { facts.append("field \(field)") }
            for member in cause?["metadata"]?.members ?? [] {
                guard let text = member.value.stringValue else { continue }
                if member.name == "hint" { hint = text } else { facts.append("\(member.name) \(text)") }
            }
        } catch {
            // Not a gateway's own answer: the status has to do.
        }
        if let requestID { facts.append("request \(requestID)") }
        if !facts.isEmpty { message += " (\(Table.safe(facts.joined(separator: "; "))))" }
        if let hint { message += "\nhint: \(Table.safe(hint))" }
        var failure = Failure(.refused, message)
        failure.mayPass = [429, 500, 502, 503, 504].contains(status)
        return failure
    }

    /// Percent-encodes everything that is not unreserved (RFC 3986 §2.3).
    static func escaped(_ text: String) -> String {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        return text.utf8.map { byte in
            if unreserved.contains(byte) { return String(UnicodeScalar(byte)) }
            let hex = String(byte, radix: 16, uppercase: true)
            return hex.utf8.count == 1 ? "%0\(hex)" : "%\(hex)"
        }
        .joined()
    }

    /// Why there is no answer, and what to do.
    static func reason(_ error: any Error) -> String {
        if error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError { return tlsReason("\(error)") }
        return "\(connectionReason(error)); is the gateway running? (--gateway)"
    }

    /// The library's texts are for its developers.
    private static func tlsReason(_ text: String) -> String {
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return "its certificate is not signed by an authority that is trusted; name the file of your authority "
                + "(--ca, HERALD_CA)"
        }
        if text.contains("alidateHostname") || text.contains("ostname") {
            return "its certificate is of another name; use one of its names (--gateway)"
        }
        if text.contains("WRONG_VERSION_NUMBER") { return "it does not speak TLS; is it http://? (--gateway)" }
        return "the TLS handshake failed"
    }

    private static func connectionReason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout || error == .deadlineExceeded:
            "no answer in time"
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { connectionReason($0.error) } ?? "no address for that name"
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: "connection refused"
            case ECONNRESET: "connection reset"
            case EHOSTUNREACH, ENETUNREACH: "no route to it"
            case ETIMEDOUT: "no answer in time"
            default: "error \(error.errnoCode)"
            }
        default: String("\(error)".prefix(200))
        }
    }
}

extension JSONValue {
    /// The whole number, when this is one.
    var integerValue: Int? {
        guard case .number(let text) = self else { return nil }
        return Int(text)
    }

    /// The members, when this is an object.
    var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// The elements, when this is an array.
    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
