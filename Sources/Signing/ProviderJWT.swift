import JSON

/// The compact JWS that APNs takes as a provider token: header `alg`, `kid`, claims `iss`, `iat`.
package enum ProviderJWT {
    /// Signs a token.
    ///
    /// - Parameters:
    ///   - keyID: the 10-character id of the key (`kid`).
    ///   - teamID: the 10-character id of the team (`iss`).
    ///   - issuedAt: seconds since 1970 (`iat`).
    /// - Returns: `header.claims.signature`, each base64url without padding (RFC 7515 §3.1).
    package static func signed(
        keyID: String, teamID: String, issuedAt: Int64, with key: ES256PrivateKey
    ) throws(SigningError) -> String {
        try JWT.signed(
            header: [.init("alg", .string("ES256")), .init("kid", .string(keyID))],
            claims: [.init("iss", .string(teamID)), .init("iat", .number(String(issuedAt)))],
            by: key.signature)
    }
}
