import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// A service account of the project `demo`, with its private key: signs what a test makes up.
struct ServiceAccountFixture {
    let file: ServiceAccountFile
    private let key: _RSA.Signing.PrivateKey

    /// Keys take a moment to make: one for each name serves all tests.
    static let shared = make("backend")
    static let stranger = make("stranger")

    private static func make(_ name: String) -> Result<ServiceAccountFixture, any Error> {
        Result {
            let project = try #require(ProjectID(rawValue: "demo"))
            let email = try #require(ServiceAccountEmail(name: name, project: project))
            return try ServiceAccountFixture(
                ServiceAccountFile(newKeyOf: email, tokenURI: "http://127.0.0.1:1/token"))
        }
    }

    init(_ file: ServiceAccountFile) throws {
        self.file = file
        let json = try JSONValue(parsing: Array(file.text.utf8))
        key = try _RSA.Signing.PrivateKey(pemRepresentation: #require(json["private_key"]?.stringValue))
    }

    /// Keeps the account in a gateway's store.
    func keep(in gateway: TestGateway, role: Role = .admin) async throws {
        let account = ServiceAccount(email: file.account, role: role, createdAt: gateway.clock.now)
        #expect(try await gateway.store.insert(account, with: file.record(at: gateway.clock.now), by: .gateway))
    }

    /// The claims that Python's library sends at `time`; those of `others` replace or, `nil`, remove them.
    func claims(at time: Timestamp, _ others: [String: JSONValue?] = [:]) -> String {
        var claims: [String: JSONValue] = [
            "iss": .string(file.account.rawValue), "aud": .string("https://oauth2.googleapis.com/token"),
            "scope": .string("https://www.googleapis.com/auth/cloud-platform"), "iat": .integer(time.seconds),
            "exp": .integer(time.seconds + 3600),
        ]
        for (name, value) in others { claims[name] = value }
        return String(decoding: JSONValue.object(claims.map { .init($0.key, $0.value) }).bytes, as: UTF8.self)
    }

    /// A JWT with these claims.
    func jwt(_ claims: String, header: String? = nil) throws -> String {
        let header = header ?? #"{"typ":"JWT","alg":"RS256","kid":"\#(file.keyID)"}"#
        let signed = Base64URL.text(Array(header.utf8)) + "." + Base64URL.text(Array(claims.utf8))
        let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.text(signature.rawRepresentation)
    }

    /// A JWT that works at `time`.
    func jwt(at time: Timestamp, _ others: [String: JSONValue?] = [:]) throws -> String {
        try jwt(claims(at: time, others))
    }
}

extension TestGateway {
    /// Asks for a token with a form of these fields.
    func askForToken(_ fields: [(String, String)], contentType: String? = nil) async throws -> Answer {
        let form = fields.map { "\($0.0)=\($0.1.replacing(":", with: "%3A"))" }.joined(separator: "&")
        return try await request(
            .post, "/token", form, as: nil,
            headers: [.contentType: contentType ?? "application/x-www-form-urlencoded"])
    }

    /// Exchanges an assertion.
    func exchange(_ assertion: String) async throws -> Answer {
        try await askForToken([("grant_type", TokenTests.grantType), ("assertion", assertion)])
    }

    /// A request with a bearer.
    func request(bearer: String, _ path: String = "/v1/projects/demo/messages") async throws -> Answer {
        try await request(.get, path, as: nil, headers: [.authorization: "Bearer \(bearer)"])
    }
}
