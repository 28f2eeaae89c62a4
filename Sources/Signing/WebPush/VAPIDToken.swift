import JSON

/// The token by which a push service knows the application server (RFC 8292 §2): one for each key and origin.
package enum VAPIDToken {
    /// Signs a token.
    ///
    /// - Parameters:
    ///   - audience: the origin of the endpoint, `https://host` with a port that is not 443, without a path (`aud`).
    ///   - subject: a `mailto:` or `https:` URL of who is responsible (`sub`).
    ///   - expiresAt: seconds since 1970, at most 24 hours from now (`exp`).
    package static func signed(
        audience: String, subject: String, expiresAt: Int64, with key: ES256PrivateKey
    ) throws(SigningError) -> String {
        try JWT.signed(
            header: [.init("typ", .string("JWT")), .init("alg", .string("ES256"))],
            claims: [
                .init("aud", .string(audience)), .init("exp", .number(String(expiresAt))),
                .init("sub", .string(subject)),
            ],
            by: key.signature)
    }

    /// The value of `Authorization` with a token (RFC 8292 §3). With a blank behind the comma: without one some services
    /// do not read it.
    package static func authorization(_ token: String, of key: ES256PrivateKey) -> String {
        "vapid t=\(token), k=\(Base64URL.text(key.publicPoint))"
    }
}
