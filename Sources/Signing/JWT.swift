import JSON

/// The compact form of a signed JSON Web Token (RFC 7519 §3, RFC 7515 §3.1): what push services take as proof of who sends.
enum JWT {
    /// Signs a token.
    ///
    /// - Returns: `header.claims.signature`, each base64url without padding.
    static func signed(
        header: [JSONValue.Member], claims: [JSONValue.Member],
        by signature: ([UInt8]) throws(SigningError) -> [UInt8]
    ) throws(SigningError) -> String {
        let parts = [header, claims].map { Base64URL.text(JSONValue.object($0).bytes) }
        let input = parts.joined(separator: ".")
        return input + "." + Base64URL.text(try signature(Array(input.utf8)))
    }
}
