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
        let header = #"{"alg":"ES256","kid":\#(quoted(keyID))}"#
        let claims = #"{"iss":\#(quoted(teamID)),"iat":\#(issuedAt)}"#
        let signingInput = Base64URL.text(Array(header.utf8)) + "." + Base64URL.text(Array(claims.utf8))
        let signature = try key.signature(for: Array(signingInput.utf8))
        return signingInput + "." + Base64URL.text(signature)
    }

    /// A JSON string (RFC 8259 §7). The ids come from a configuration file, so they may hold anything.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default:
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
