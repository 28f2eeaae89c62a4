import Hummingbird
import HummingbirdCore
import PushModel
import Store

/// Signing in by a provider of OpenID Connect: the way there, the way back, and who it is.
struct ProviderSignIn: Sendable {
    let configuration: OIDCConfiguration
    private let provider: OIDCProvider
    private let services: ConsoleServices
    private let seal = AttemptSeal()

    init(_ configuration: OIDCConfiguration, _ services: ConsoleServices) {
        self.configuration = configuration
        self.services = services
        let client = ProviderClient(
            trustFile: configuration.trustFile, proxy: services.forwardProxy, clock: services.clock)
        provider = OIDCProvider(configuration, client, wallTime: services.wallTime, logger: services.logger)
    }

    /// How a sign-in ended that came back.
    enum End: Sendable {
        /// The operator signs in, having proven at a time who they are.
        case signedIn(OperatorName, provenAt: Timestamp, back: String)
        /// The operator of the session proved again who they are.
        case proven(SignedIn, back: String)
    }

    /// A sign-in that came back and failed, with whose it would have been.
    struct Failure: Error {
        let problem: OIDCProblem
        var owner: Operator?
        var back: String?
    }

    // MARK: What pages show

    /// What the sign-in page shows.
    ///
    /// - Parameter url: where that page is for the provider, which leads there after a sign-out.
    func model(_ visit: Visit, at url: String, back: String, base: String) async -> Model {
        let model: Model = [
            "name": configuration.name, "url": "\(base)/sign-in/oidc?back=\(back.urlEncoded)",
            "isSignedOut": visit.query["out"] != nil,
        ]
        let signOut = await provider.signOutURL(back: url)
        return model.with("signOut", signOut)
    }

    /// What the page shows that asks again who the operator is.
    func proofModel(back: String, base: String) -> Model {
        ["name": configuration.name, "url": "\(base)/sign-in/oidc?prove=1&back=\(back.urlEncoded)"]
    }

    // MARK: There and back

    /// Begins a sign-in: where the browser goes, and what it keeps meanwhile.
    ///
    /// - Parameter session: the session whose operator proves again who they are; `nil`: it is a sign-in.
    func begin(
        back: String, proving session: SignedIn?, redirect: String
    ) async throws -> (place: String, sealed: String) {
        let attempt = SignInAttempt(back: back, session: session?.session.id, at: services.wallTime())
        let place = try await provider.authorizationURL(for: attempt, redirect: redirect)
        return (place, try seal.seal(attempt))
    }

    /// Opens what the browser kept, once.
    func attempt(_ visit: Visit, _ keeper: SessionKeeper) -> SignInAttempt? {
        seal.open(keeper.attempt(visit), state: visit.query["state"], at: services.wallTime())
    }

    /// Ends a sign-in: exchanges the code, checks the token, and finds the operator.
    ///
    /// - Throws: ``Failure``, or what the store says.
    func end(
        _ attempt: SignInAttempt, _ visit: Visit, _ signedIn: SignedIn?, redirect: String
    ) async throws -> End {
        var owner: Operator?
        do {
            let token = try await token(attempt, visit, redirect)
            let claims = try OperatorClaims(token.claims, configuration)
            owner = try await services.store.console(operator: claims.name)
            if let session = attempt.session {
                guard let signedIn, signedIn.session.id == session else { throw OIDCProblem.attempt }
                guard signedIn.owner.name == claims.name else { throw OIDCProblem.person(.another(claims.name)) }
                return .proven(signedIn, back: attempt.back)
            }
            try await admit(claims, owner, visit)
            // Without a word about when, it may have been long ago.
            let provenAt = token.provenAt ?? Timestamp(milliseconds: 0)
            return .signedIn(claims.name, provenAt: provenAt, back: attempt.back)
        } catch let problem as OIDCProblem {
            throw Failure(problem: problem, owner: owner?.revokedAt == nil ? owner : nil, back: attempt.back)
        }
    }

    private func token(
        _ attempt: SignInAttempt, _ visit: Visit, _ redirect: String
    ) async throws(OIDCProblem) -> IDToken {
        // RFC 9207: who answers.
        if let issuer = visit.query["iss"], issuer != configuration.issuer { throw .token(.issuer) }
        if let error = visit.query["error"] { throw .refused(OIDCProvider.errorWord(error) ?? "unknown error") }
        guard let code = visit.query["code"], code.utf8.count <= 4096 else { throw .refused("no code") }
        return try await provider.token(for: code, of: attempt, redirect: redirect)
    }

    // MARK: Who it is

    /// Whether the operator may sign in; those whose roles the provider gives get them.
    private func admit(_ claims: OperatorClaims, _ owner: Operator?, _ visit: Visit) async throws {
        guard owner?.revokedAt == nil else { throw OIDCProblem.person(.revoked(claims.name)) }
        guard owner != nil || !configuration.roles.isEmpty else { throw OIDCProblem.person(.unknown(claims.name)) }
        try await give(claims, owner, visit)
        let admitted = try await services.store.console(operator: claims.name)
        guard let admitted, admitted.revokedAt == nil, !admitted.roles.isEmpty else {
            throw OIDCProblem.person(.noRole(claims.name))
        }
    }

    /// Makes the roles in the projects of the rules those that the provider gives. First what is given: who loses the last
    /// role is revoked.
    private func give(_ claims: OperatorClaims, _ owner: Operator?, _ visit: Visit) async throws {
        let credential = CredentialUse(id: "oidc", name: configuration.name, address: visit.address)
        let changes = claims.roles.filter { owner?.roles[$0.key] != $0.value }
            .sorted { $0.key.rawValue < $1.key.rawValue }
        for case (let project, let role?) in changes {
            _ = try await services.store.grant(
                role, in: project, to: claims.name, at: services.wallTime(), by: credential)
        }
        for (project, role) in changes where role == nil {
            _ = try await services.store.revoke(
                claims.name, in: project, at: services.wallTime(), by: credential)
        }
    }
}
