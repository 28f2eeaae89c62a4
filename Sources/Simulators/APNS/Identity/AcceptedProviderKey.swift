package import Crypto
import Foundation

/// A provider key whose tokens the simulator accepts: an entry of `provider-keys.json`.
///
/// ```json
/// [{"teamID": "TEAM123456", "keyID": "ABC1234567", "publicKey": "-----BEGIN PUBLIC KEY-----\n…", "topics": []}]
/// ```
package struct AcceptedProviderKey: Sendable, Codable, Hashable {
    /// The team that owns the key: `iss` of its tokens.
    package var teamID: String
    /// The key's id: `kid` of its tokens.
    package var keyID: String
    /// The public half, PEM (`openssl ec -in AuthKey_….p8 -pubout`).
    package var publicKey: String
    /// Bundle ids that the key may push to; empty: any.
    package var topics: [String]

    /// An entry for a key made elsewhere.
    package init(teamID: String, keyID: String, publicKey: P256.Signing.PublicKey, topics: [String] = []) {
        self.teamID = teamID
        self.keyID = keyID
        self.publicKey = publicKey.pemRepresentation
        self.topics = topics
    }

    /// The key that checks signatures.
    func verifyingKey() throws -> P256.Signing.PublicKey {
        do {
            return try P256.Signing.PublicKey(pemRepresentation: publicKey)
        } catch {
            throw SimulatorError("the publicKey of provider key \(keyID) is not a P-256 public key in PEM")
        }
    }
}
