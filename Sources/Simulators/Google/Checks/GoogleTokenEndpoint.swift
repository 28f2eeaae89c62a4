import CryptoExtras
import Foundation
import Synchronization

/// Where a simulated Google exchanges assertions for access tokens (RFC 7523), with the texts of the real one.
final class GoogleTokenEndpoint: Sendable {
    static let timeText =
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and "
        + "exp values in the JWT claim."
    /// The `aud` that Google's own clients send wherever they ask.
    static let googlesURL = "https://oauth2.googleapis.com/token"
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    /// How long an access token lives.
    private static let lifetimeSeconds: Int64 = 3599
    /// By how much the clocks may differ.
    private static let toleranceSeconds: Int64 = 300

    private let identity: GoogleIdentity
    private let publicKey: _RSA.Signing.PublicKey
    private let ownURLs: Set<String>
    /// When each token that was given ends, seconds since 1970.
    private let tokens = Mutex<[String: Int64]>([:])

    init(_ identity: GoogleIdentity, port: Int) throws {
        self.identity = identity
        publicKey = try identity.publicKey()
        ownURLs = Set(["127.0.0.1", "localhost", "[::1]"].map { "https://\($0):\(port)/token" })
    }

    /// Whether a token was given and has not ended.
    func accepts(_ token: String, at now: Int64) -> Bool {
        tokens.withLock { $0[token].map { now < $0 } ?? false }
    }

    /// Takes back every token that was given.
    func revokeAll() {
        tokens.withLock { $0 = [:] }
    }

    static func refusal(_ error: String, _ description: String) -> GoogleReply {
        GoogleReply(
            status: 400,
            body: "{\n  \"error\": \(jsonString(error)),\n  \"error_description\": \(jsonString(description))\n}",
            code: error)
    }

    /// Answers a token request.
    ///
    /// - Parameter now: seconds since 1970.
    func reply(contentType: String?, body: [UInt8], now: Int64) -> GoogleReply {
        guard contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true else {
            return Self.refusal("invalid_request", "Bad Request")
        }
        let form = Self.form(String(decoding: body, as: UTF8.self))
        guard form["grant_type"] == Self.grantType else {
            return Self.refusal("unsupported_grant_type", "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        guard let assertion = form["assertion"] else {
            return Self.refusal("invalid_request", "Missing parameter: assertion")
        }
        if let refusal = refusal(of: assertion, now: now) { return refusal }
        let token = "ya29.sim-" + (0..<32).map { _ in String(UInt8.random(in: 0...15), radix: 16) }.joined()
        tokens.withLock { $0[token] = now + Self.lifetimeSeconds }
        return GoogleReply(
            status: 200,
            body: "{\"access_token\":\"\(token)\",\"expires_in\":\(Self.lifetimeSeconds),\"token_type\":\"Bearer\"}")
    }

    private func refusal(of assertion: String, now: Int64) -> GoogleReply? {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        let decoded = parts.map { Self.base64URL(String($0)) }
        guard decoded.count == 3, let first = decoded[0], let second = decoded[1], let signature = decoded[2],
            let header = JSON.read(first), let claims = JSON.read(second)
        else { return Self.refusal("invalid_grant", "Invalid JWT: malformed") }
        guard header["alg"]?.text == "RS256" else {
            return Self.refusal("invalid_grant", "Invalid JWT: unsupported algorithm")
        }
        guard claims["iss"]?.text == identity.email else {
            return Self.refusal("invalid_grant", "Invalid grant: account not found")
        }
        let input = Data(parts[0].utf8 + [UInt8(ascii: ".")] + parts[1].utf8)
        let isSigned = publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: Data(signature)), for: input, padding: .insecurePKCS1v1_5)
        guard header["kid"]?.text == identity.keyID, isSigned else {
            return Self.refusal("invalid_grant", "Invalid JWT Signature.")
        }
        guard let audience = claims["aud"]?.text, audience == Self.googlesURL || ownURLs.contains(audience) else {
            return Self.refusal(
                "invalid_grant", "Invalid JWT: Failed audience check. The right audience is \(Self.googlesURL)")
        }
        guard let issuedAt = claims["iat"]?.integer, let end = claims["exp"]?.integer, end - issuedAt <= 3600,
            end > now, issuedAt <= now + Self.toleranceSeconds, issuedAt >= now - 3600 - Self.toleranceSeconds
        else { return Self.refusal("invalid_grant", Self.timeText) }
        let scopes = (claims["scope"]?.text ?? "").split(separator: " ").map(String.init)
        guard !Self.scopes.isDisjoint(with: scopes) else {
            return Self.refusal("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return nil
    }

    private static func form(_ text: String) -> [String: String] {
        let pairs = text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
        return Dictionary(pairs, uniquingKeysWith: { _, last in last })
    }

    private static func decoded(_ text: Substring) -> String {
        text.replacing("+", with: " ").removingPercentEncoding ?? ""
    }

    private static func base64URL(_ text: String) -> [UInt8]? {
        guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") })
        else { return nil }
        let padded = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: padded + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
            .map { [UInt8]($0) }
    }
}
