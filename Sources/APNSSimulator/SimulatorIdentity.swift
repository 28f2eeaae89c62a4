/// What a simulator needs to be taken for APNs, and to check who sends: made once in a state directory and kept.
///
/// The directory holds `ca.pem` (to be trusted by the client), `server.pem` and `server-key.pem` (for `localhost`,
/// `127.0.0.1` and `::1`), `AuthKey_<keyID>.p8` (a provider key to send with) and `provider-keys.json` (team, key id,
/// public key and topics that are accepted). Private keys have mode 0600.
public struct SimulatorIdentity: Sendable {
    /// The directory.
    public let directory: String
    /// The CA certificate, PEM.
    public let caFile: String
    /// The team of the generated provider key, 10 characters.
    public let teamID: String
    /// The id of the generated provider key, 10 characters.
    public let keyID: String
    /// The generated provider key, a `.p8`.
    public let keyFile: String

    /// Reads the directory, makes what is missing.
    ///
    /// - Parameter topics: bundle ids that the generated key may push to; empty: any.
    /// - Throws: an error whose description names the file.
    public init(directory: String, topics: [String]) throws {
        fatalError("pending")
    }
}
