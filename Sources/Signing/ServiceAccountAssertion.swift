import JSON

/// The assertion for which Google gives an access token (RFC 7523 §2.1): RS256, signed with the private key of a service
/// account.
package enum ServiceAccountAssertion {
    /// Signs an assertion.
    ///
    /// - Parameters:
    ///   - keyID: of the account's key (`kid`, `private_key_id` of its file).
    ///   - issuer: the account's address (`iss`, `client_email`).
    ///   - audience: where the token is asked for (`aud`, `token_uri`).
    ///   - scope: what the token is to allow, URLs with blanks between them.
    ///   - issuedAt: seconds since 1970 (`iat`).
    ///   - lifetimeSeconds: until `exp`; Google takes an hour at most.
    package static func signed(
        keyID: String, issuer: String, audience: String, scope: String, issuedAt: Int64, lifetimeSeconds: Int64 = 3600,
        with key: RS256PrivateKey
    ) throws(SigningError) -> String {
        try JWT.signed(
            header: [
                .init("alg", .string("RS256")), .init("typ", .string("JWT")), .init("kid", .string(keyID)),
            ],
            claims: [
                .init("iss", .string(issuer)), .init("scope", .string(scope)), .init("aud", .string(audience)),
                .init("iat", .number(String(issuedAt))), .init("exp", .number(String(issuedAt + lifetimeSeconds))),
            ],
            by: key.signature)
    }
}
