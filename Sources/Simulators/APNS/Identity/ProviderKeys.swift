import Crypto
import Foundation

/// `provider-keys.json` and the generated provider key.
enum ProviderKeys {
    static let file = "provider-keys.json"

    static func keyFile(_ keyID: String) -> String {
        "AuthKey_\(keyID).p8"
    }

    /// Reads the accepted keys, makes one of its own when there is none whose private half lies in the directory.
    ///
    /// - Returns: all accepted keys, and which of them is the simulator's own.
    static func prepare(
        in directory: StateDirectory, topics: [String]
    ) throws -> (accepted: [AcceptedProviderKey], own: AcceptedProviderKey) {
        var accepted = try read(in: directory)
        if let own = accepted.first(where: { directory.exists(keyFile($0.keyID)) }) {
            try check(own, in: directory)
            return (accepted, own)
        }
        let key = P256.Signing.PrivateKey()
        let own = AcceptedProviderKey(
            teamID: randomID(), keyID: randomID(), publicKey: key.publicKey, topics: topics)
        accepted.append(own)
        // The list last: a key file without an entry is ignored.
        try directory.write(key.pemRepresentation, to: keyFile(own.keyID), isPrivate: true)
        try write(accepted, in: directory)
        return (accepted, own)
    }

    private static func read(in directory: StateDirectory) throws -> [AcceptedProviderKey] {
        guard let text = try directory.read(file) else { return [] }
        let keys: [AcceptedProviderKey]
        do {
            keys = try JSONDecoder().decode([AcceptedProviderKey].self, from: Data(text.utf8))
        } catch let error as DecodingError {
            throw SimulatorError("\(directory.file(file)): \(error.problem); mend it, or delete it to start anew")
        }
        var seen: Set<String> = []
        for key in keys {
            guard seen.insert(key.keyID).inserted else {
                throw SimulatorError("\(directory.file(file)): key \(key.keyID) stands there twice; remove one")
            }
            do {
                _ = try key.verifyingKey()
            } catch let error as SimulatorError {
                throw SimulatorError("\(directory.file(file)): \(error.description); mend or remove the entry")
            }
        }
        return keys
    }

    private static func write(_ keys: [AcceptedProviderKey], in directory: StateDirectory) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(keys), as: UTF8.self)
        try directory.write(text + "\n", to: file, isPrivate: false)
    }

    private static func check(_ own: AcceptedProviderKey, in directory: StateDirectory) throws {
        let path = directory.file(keyFile(own.keyID))
        let remedy = "delete it to have a new provider key made"
        let key: P256.Signing.PrivateKey
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: try directory.read(keyFile(own.keyID)) ?? "")
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw SimulatorError("\(path): is not a P-256 private key in PEM; \(remedy)")
        }
        guard try key.publicKey.rawRepresentation == own.verifyingKey().rawRepresentation else {
            throw SimulatorError("\(path): is not the key that \(file) lists as \(own.keyID); \(remedy)")
        }
    }

    /// Ten characters like Apple's team and key ids.
    private static func randomID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        return String((0..<10).map { _ in alphabet[Int.random(in: alphabet.indices)] })
    }
}
