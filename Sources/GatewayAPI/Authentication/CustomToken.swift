import PushModel
import Store

/// A Firebase custom token, as `auth.create_custom_token("alice")` of the Admin SDKs makes it: a service account of the
/// project says for at most an hour who the user of an app is.
/// (firebase.google.com/docs/auth/admin/create-custom-tokens)
struct CustomToken: Sendable {
    /// The user (`uid`).
    let user: UserID
    /// Who says so.
    let account: ServiceAccountEmail

    /// `aud` of each custom token.
    static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    /// Why a custom token does not count.
    enum Problem: Error, Sendable {
        /// As with any assertion.
        case assertion(Assertion.Problem)
        /// `aud` is another one.
        case audience
        /// `uid` is missing or no user's id.
        case user
    }

    /// Reads a token and has its signature checked with the keys of the project's service accounts.
    init(
        _ text: String, of project: ProjectID, in store: any ServiceAccountStore, at now: Timestamp
    ) async throws(Problem) {
        let identity: ServiceAccountIdentity
        let assertion: Assertion
        do {
            assertion = try Assertion(text, at: now, isCustomToken: true)
            identity = try await store.signer(ofCustomToken: assertion, in: project)
        } catch {
            throw .assertion(error)
        }
        guard assertion.isMeant(for: Self.audience) else { throw .audience }
        guard let user = assertion.userID.flatMap(UserID.init(rawValue:)), user.isVisible else { throw .user }
        self.user = user
        account = identity.account.email
    }
}

extension ServiceAccountStore {
    /// Which account of a project signed a custom token. One without a key id is held against all keys of its issuer.
    fileprivate func signer(
        ofCustomToken token: Assertion, in project: ProjectID
    ) async throws(Assertion.Problem) -> ServiceAccountIdentity {
        guard token.keyID == nil else {
            let identity = try await signer(of: token)
            guard identity.account.email.project == project else { throw .signature }
            return identity
        }
        let identities: [ServiceAccountIdentity]
        do {
            identities = try await serviceAccountKeys(of: project)
        } catch {
            throw .store(error)
        }
        for identity in identities where identity.account.email.rawValue == token.issuer {
            do {
                try await token.check(by: identity)
                return identity
            } catch .signature {
                continue
            }
        }
        throw .signature
    }
}

extension CustomToken.Problem {
    /// What is wrong, and what to do.
    var text: String {
        switch self {
        case .assertion(let problem): problem.text
        case .audience: "Its aud must be \(CustomToken.audience)."
        case .user: "Its uid must be \(UserID.expectation)."
        }
    }
}
