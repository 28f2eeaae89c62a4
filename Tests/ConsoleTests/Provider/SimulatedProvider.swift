import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import HummingbirdTesting
import JSON
import Logging
import NIOCore
import NIOSSL
import PushModel
import Synchronization
import Testing

@testable import Console

/// A provider of OpenID Connect on a real socket. It keeps to the rules: a code counts once, for the redirect, the client and
/// the verifier that it was made for. What it says in tokens and in answers can be changed.
final class SimulatedProvider: Sendable {
    static let clientID = "herald console"
    static let secret = "s3cret: with / and %"

    /// A key that signs tokens.
    enum Key: Sendable {
        case ec(P256.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
    }

    /// What a test can change.
    struct State: Sendable {
        /// The keys that are published, by id.
        var published: [String: Key] = [:]
        /// Signs tokens, and the id that they name.
        var signer: (id: String?, key: Key)
        /// The claims that differ from what is right; `nil`: the claim is left out.
        var claims: [String: JSONValue?] = [:]
        /// The algorithm that the header names instead of the key's.
        var algorithm: String?
        /// Members of the description that differ; `nil`: left out.
        var description: [String: JSONValue?] = [:]
        /// Answers every request so.
        var status: HTTPResponse.Status?
        /// The time that the provider sees.
        var now = ConsoleScene.startTime
        /// Requests for tokens get no answer before it ends.
        var silence: AsyncStream<Void>?
        /// Requests by path.
        var requests: [String: Int] = [:]
        fileprivate var port = 0
        fileprivate var codes: [String: Grant] = [:]
    }

    fileprivate struct Grant: Sendable {
        var redirect: String
        var nonce: String
        var challenge: String
        var provenAt: Int64
    }

    let state: Mutex<State>
    private let isTLS: Bool

    private init(isTLS: Bool) {
        let key = Key.ec(P256.Signing.PrivateKey())
        state = Mutex(State(published: ["first": key], signer: ("first", key)))
        self.isTLS = isTLS
    }

    var issuer: String { "\(isTLS ? "https" : "http")://127.0.0.1:\(state.withLock { $0.port })" }

    /// As the console is configured for it.
    var configuration: OIDCConfiguration {
        OIDCConfiguration(issuer: issuer, clientID: Self.clientID, clientSecret: Self.secret, name: "Example Login")
    }

    /// Runs a provider while a test runs.
    static func with<Value: Sendable>(
        tls: TLSConfiguration? = nil, _ body: @escaping @Sendable (SimulatedProvider) async throws -> Value
    ) async throws -> Value {
        let provider = SimulatedProvider(isTLS: tls != nil)
        let application = Application(
            router: provider.router(),
            server: try tls.map { try HTTPServerBuilder.tls(tlsConfiguration: $0) } ?? .http1(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            logger: Logger(label: "provider", factory: { _ in SwiftLogNoOpLogHandler() }))
        return try await application.test(.live) { client in
            provider.state.withLock { $0.port = client.port ?? 0 }
            return try await body(provider)
        }
    }

    func count(_ path: String) -> Int { state.withLock { $0.requests[path] ?? 0 } }

    // MARK: The browser's part

    /// What a browser gets when it is sent to the provider and its person signs in there: the console's page to come back to.
    func signIn(at place: String?) throws -> String {
        let query = try query(of: place)
        #expect(query["response_type"] == "code" && query["client_id"] == Self.clientID)
        #expect(query["code_challenge_method"] == "S256" && query["scope"]?.hasPrefix("openid ") == true)
        let code = UUID().uuidString
        let grant = Grant(
            redirect: try #require(query["redirect_uri"]), nonce: try #require(query["nonce"]),
            challenge: try #require(query["code_challenge"]),
            // Without being asked for, it may have been hours ago.
            provenAt: state.withLock { $0.now.seconds } - (query["prompt"] == "login" ? 0 : 7200))
        state.withLock { $0.codes[code] = grant }
        return try back(query, "code=\(code)&iss=\(issuer.urlEncoded)")
    }

    /// The same for a person who says no.
    func refuse(at place: String?) throws -> String { try back(query(of: place), "error=access_denied") }

    private func query(of place: String?) throws -> Form {
        let url = try #require(place)
        #expect(url.hasPrefix("\(issuer)/authorize?"))
        return Form(Array(url.drop { $0 != "?" }.dropFirst().utf8))
    }

    private func back(_ query: Form, _ answer: String) throws -> String {
        let redirect = try #require(query["redirect_uri"])
        let host = try #require(redirect.firstRange(of: "://"))
        let path = redirect[host.upperBound...].drop { $0 != "/" }
        return "\(path)?state=\(query.text("state").urlEncoded)&\(answer)"
    }

    // MARK: The gateway's part

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get(".well-known/openid-configuration") { _, _ in
            try await self.answer("description") { self.description }
        }
        router.get("jwks") { _, _ in try await self.answer("jwks") { self.keys } }
        router.post("token") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 16)
            let form = Form(Array(body.readableBytesView))
            let header = request.headers[.authorization]
            return try await self.answer("token") { try self.token(form, header) }
        }
        return router
    }

    private func answer(_ path: String, _ make: () throws -> JSONValue?) async throws -> Response {
        let (status, silence) = state.withLock { state in
            state.requests[path, default: 0] += 1
            return (state.status, path == "token" ? state.silence : nil)
        }
        if let silence { for await _ in silence {} }
        if let status { return Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: "<oops>"))) }
        guard let json = try make() else {
            return Response(
                status: .badRequest, body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"error":"invalid_grant"}"#)))
        }
        return Response(
            status: json["error"] == nil ? .ok : .unauthorized, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }

    private var description: JSONValue {
        let changes = state.withLock { $0.description }
        return Self.object(
            [
                "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
                "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/jwks"),
                "end_session_endpoint": .string("\(issuer)/end"),
            ], changes)
    }

    private var keys: JSONValue {
        let published = state.withLock { $0.published }
        // Keys of other kinds stand beside, as at real providers.
        let others: [JSONValue] = [
            Self.object(["kty": .string("oct"), "kid": .string("first"), "k": .string("AAAA")]),
            Self.object(["kty": .string("RSA"), "use": .string("enc"), "alg": .string("RSA-OAEP")]),
        ]
        return .object([.init("keys", .array(others + published.map { $0.value.jwk(id: $0.key) }))])
    }

    /// The answer to a code; `nil`: it does not count.
    private func token(_ form: Form, _ header: String?) throws -> JSONValue? {
        let credentials = header?.split(separator: " ").last.flatMap { Data(base64Encoded: String($0)) }
        let expected = "\(Self.clientID.urlEncoded):\(Self.secret.urlEncoded)"
        guard credentials.map({ String(decoding: $0, as: UTF8.self) }) == expected else {
            return .object([.init("error", .string("invalid_client"))])
        }
        let grant = state.withLock { $0.codes.removeValue(forKey: form.text("code")) }
        let challenge = Base64URL.text(SHA256.hash(data: Data(form.text("code_verifier").utf8)))
        guard form.text("grant_type") == "authorization_code", let grant, grant.redirect == form.text("redirect_uri"),
            grant.challenge == challenge
        else { return nil }
        return .object([.init("token_type", .string("Bearer")), .init("id_token", .string(try idToken(grant)))])
    }

    private func idToken(_ grant: Grant) throws -> String {
        let (changes, signer, algorithm, seconds) = state.withLock {
            ($0.claims, $0.signer, $0.algorithm, $0.now.seconds)
        }
        let claims = Self.object(
            [
                "iss": .string(issuer), "sub": .string("248289761001"), "aud": .string(Self.clientID),
                "exp": .number("\(seconds + 300)"), "iat": .number("\(seconds)"),
                "auth_time": .number("\(grant.provenAt)"), "nonce": .string(grant.nonce),
                "email": .string("ada@example.com"), "email_verified": .bool(true),
            ], changes)
        let header = Self.object(
            ["alg": .string(algorithm ?? signer.key.algorithm)], ["kid": signer.id.map { JSONValue.string($0) }])
        let text = [header, claims].map { Base64URL.text($0.bytes) }.joined(separator: ".")
        return "\(text).\(Base64URL.text(try signer.key.signature(of: text, algorithm: algorithm)))"
    }

    private static func object(_ members: [String: JSONValue], _ changes: [String: JSONValue?] = [:]) -> JSONValue {
        var members = members
        for (name, value) in changes { members[name] = value }
        return .object(members.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
    }
}

extension SimulatedProvider.Key {
    var algorithm: String {
        switch self {
        case .ec: "ES256"
        case .rsa: "RS256"
        }
    }

    /// A signature as the header's algorithm has it: with `none` nothing, with a shared secret the public key is the secret,
    /// which is how libraries were once deceived.
    func signature(of text: String, algorithm: String?) throws -> [UInt8] {
        let data = Data(text.utf8)
        switch (algorithm, self) {
        case ("none", _): return []
        case ("HS256", .ec(let key)):
            return Array(
                HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: key.publicKey.x963Representation)))
        case (_, .ec(let key)): return Array(try key.signature(for: data).rawRepresentation)
        case (_, .rsa(let key)):
            return Array(try key.signature(for: data, padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    /// The public half (RFC 7517); an RSA key names no algorithm, as with some providers.
    fileprivate func jwk(id: String) -> JSONValue {
        var members: [JSONValue.Member] = [.init("kid", .string(id)), .init("use", .string("sig"))]
        switch self {
        case .ec(let key):
            let point = key.publicKey.rawRepresentation
            members += [
                .init("kty", .string("EC")), .init("crv", .string("P-256")), .init("alg", .string("ES256")),
                .init("x", .string(Base64URL.text(point.prefix(32)))),
                .init("y", .string(Base64URL.text(point.suffix(32)))),
            ]
        case .rsa(let key):
            do {
                let numbers = try key.publicKey.getKeyPrimitives()
                members += [
                    .init("kty", .string("RSA")), .init("n", .string(Base64URL.text(numbers.modulus))),
                    .init("e", .string(Base64URL.text(numbers.publicExponent))),
                ]
            } catch {
                Issue.record(error)
            }
        }
        return .object(members)
    }
}
