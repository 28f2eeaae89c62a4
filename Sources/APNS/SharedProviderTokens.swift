package import PushModel
import Signing

/// Where gateways that push with the same keys leave the provider token of the moment for each other: Apple refuses those of
/// a key that change too often, whichever machine they come from.
package protocol SharedProviderTokens: Sendable {
    /// The token that was left last; `nil`: none was.
    func token(of key: ProviderKeyName) async throws -> SealedProviderToken?

    /// Leaves a token, unless another than `former` is there by now.
    ///
    /// - Parameter former: what was found there; `nil`: nothing.
    /// - Returns: the one that is there now.
    func keep(
        _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
    ) async throws -> SealedProviderToken
}

/// Seals the tokens of one key with a key that comes from it.
struct ProviderTokenSeal: Sendable {
    let name: ProviderKeyName
    private let key: SealingKey

    init(_ name: ProviderKeyName, _ key: ES256PrivateKey) throws(SigningError) {
        self.name = name
        self.key = try key.sealingKey(for: "herald provider token")
    }

    func seal(_ jwt: String, issuedAt: Timestamp) throws(SigningError) -> SealedProviderToken {
        SealedProviderToken(
            issuedAt: issuedAt, bytes: try key.seal(Array(jwt.utf8), as: context(issuedAt)))
    }

    func open(_ token: SealedProviderToken) throws(SigningError) -> String {
        String(decoding: try key.open(token.bytes, as: context(token.issuedAt)), as: UTF8.self)
    }

    private func context(_ issuedAt: Timestamp) -> [UInt8] {
        Array("\(name.teamID) \(name.keyID) \(issuedAt.seconds)".utf8)
    }
}
