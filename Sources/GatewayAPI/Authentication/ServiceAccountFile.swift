import Crypto
import CryptoExtras
import Foundation
import JSON
package import PushModel
package import Store

/// A service account's credential as its holder sees it: a file in Google's shape, with the private key. Made once and
/// never stored; Admin SDKs take it as it is (fcm.md §1.2).
package struct ServiceAccountFile: Sendable {
    /// Whose key it is.
    package let account: ServiceAccountEmail
    /// The key's public id.
    package let keyID: String
    /// Where the key's signature is exchanged for an access token.
    package var tokenURI: String
    /// Any other than ``googleUniverse`` makes Google's libraries send a JWT of their own instead of asking for a token.
    package var universeDomain: String
    private let key: _RSA.Signing.PrivateKey

    /// The universe in which Google's libraries ask for tokens.
    package static let googleUniverse = "googleapis.com"

    /// Makes a new RSA key of 2048 bits.
    ///
    /// - Throws: an error of the cryptographic library.
    package init(
        newKeyOf account: ServiceAccountEmail, tokenURI: String, universeDomain: String = googleUniverse
    ) throws {
        self.account = account
        self.tokenURI = tokenURI
        self.universeDomain = universeDomain
        var random = SystemRandomNumberGenerator()
        keyID = (0..<20).map { _ in UInt8.random(in: .min ... .max, using: &random) }.map(Self.hex).joined()
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// Reads a file that ``text`` made; `nil` when it is none.
    package init?(text: String) {
        do {
            let json = try JSONValue(parsing: Array(text.utf8))
            guard json["type"]?.stringValue == "service_account",
                let account = json["client_email"]?.stringValue.flatMap({ ServiceAccountEmail(rawValue: $0) }),
                let keyID = json["private_key_id"]?.stringValue, let pem = json["private_key"]?.stringValue,
                let tokenURI = json["token_uri"]?.stringValue, let domain = json["universe_domain"]?.stringValue
            else { return nil }
            key = try _RSA.Signing.PrivateKey(pemRepresentation: pem)
            self.account = account
            self.keyID = keyID
            self.tokenURI = tokenURI
            universeDomain = domain
        } catch {
            return nil
        }
    }

    /// What the store keeps of the key.
    package func record(at time: Timestamp) -> ServiceAccountKey {
        ServiceAccountKey(
            id: keyID, account: account, publicKey: [UInt8](key.publicKey.derRepresentation), createdAt: time,
            tokenURI: tokenURI.isEmpty ? nil : tokenURI)
    }

    /// The file: JSON, a member on each line.
    package var text: String {
        let members = [
            ("type", "service_account"), ("project_id", account.project.rawValue), ("private_key_id", keyID),
            ("private_key", key.pkcs8PEMRepresentation), ("client_email", account.rawValue), ("client_id", clientID),
            // Libraries want a value; nothing asks there.
            ("auth_uri", tokenURI),
            ("token_uri", tokenURI), ("universe_domain", universeDomain),
        ]
        let lines = members.map { name, value in
            "  \"\(name)\": " + String(decoding: JSONValue.string(value).bytes, as: UTF8.self)
        }
        return "{\n\(lines.joined(separator: ",\n"))\n}\n"
    }

    /// 21 digits, as Google has it, the same for every key of the account. Nothing reads it.
    private var clientID: String {
        "1" + SHA256.hash(data: Data(account.rawValue.utf8)).prefix(20).map { String($0 % 10) }.joined()
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}

extension ServiceAccountFile: CustomStringConvertible {
    /// Whose key it is only: the rest is a secret.
    package var description: String { "service account key \(keyID) of \(account)" }
}
