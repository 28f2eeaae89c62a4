import JSON

/// What a provider says of itself (OpenID Connect Discovery 1.0 §3): as much as the console uses.
struct ProviderDescription: Hashable, Sendable {
    /// Where operators sign in.
    let authorization: String
    /// Where codes are exchanged for tokens.
    let token: String
    /// Where its keys are.
    let keys: String
    /// Where operators sign out of it; `nil`: nowhere.
    let endSession: String?
    /// Whether the secret goes into the form, because the provider does not take it in the header.
    let takesSecretInForm: Bool

    /// Where the description of an issuer is (§4.1).
    static func url(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Reads what an issuer answered. The issuer in it must be the very one that was asked (§4.3), and all that is secret
    /// must go over TLS, or stay on this machine.
    init(_ json: JSONValue, of issuer: String) throws(OIDCProblem) {
        guard let named = json["issuer"]?.stringValue else { throw .description("it has no issuer") }
        guard named == issuer else { throw .description("its issuer is \(named.prefix(200)), not \(issuer)") }
        authorization = try Self.address("authorization_endpoint", in: json)
        token = try Self.address("token_endpoint", in: json)
        keys = try Self.address("jwks_uri", in: json)
        endSession = try json["end_session_endpoint"] == nil ? nil : Self.address("end_session_endpoint", in: json)
        let methods = json["token_endpoint_auth_methods_supported"]?.elements.compactMap(\.stringValue)
        // Without a list it is the header (§3).
        takesSecretInForm = methods.map { !$0.contains("client_secret_basic") } ?? false
        let challenges = json["code_challenge_methods_supported"]?.elements.compactMap(\.stringValue)
        // Providers that list none may know PKCE; those that list others do not know what is asked of them.
        guard challenges?.contains("S256") ?? true else { throw .description("it has no PKCE with S256") }
    }

    private static func address(_ name: String, in json: JSONValue) throws(OIDCProblem) -> String {
        guard let text = json[name]?.stringValue else { throw .description("it has no \(name)") }
        guard let address = WebAddress(text), address.isProtected, !text.contains("#") else {
            throw .description("its \(name) is no https URL")
        }
        return text
    }
}
