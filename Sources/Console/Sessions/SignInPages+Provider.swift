import HTTPTypes
import Hummingbird
import HummingbirdCore
import PushModel
import Store

/// The way to a provider of OpenID Connect and back.
extension SignInPages {
    /// Answers what is below `/sign-in/oidc`.
    func providerResponse(
        to visit: Visit, _ signedIn: SignedIn?, _ base: String, _ templates: ConsoleTemplates
    ) async throws -> Response {
        guard let provider else { throw ConsoleError.notFound }
        // HEAD would use a code up, or begin what no browser ends.
        guard visit.request.method == .get else {
            throw ConsoleError(.methodNotAllowed, "This is not done with a form", "Go back to the sign-in page.")
        }
        switch visit.segments.dropFirst(2) {
        case []: return try await begin(provider, visit, signedIn, base, templates)
        case ["callback"]: return try await end(provider, visit, signedIn, base, templates)
        default: throw ConsoleError.notFound
        }
    }

    /// The page of the console that the provider's answer goes to.
    private var redirect: String { "\(services.publicURL())\(path)/sign-in/oidc/callback" }

    private func begin(
        _ provider: ProviderSignIn, _ visit: Visit, _ signedIn: SignedIn?, _ base: String,
        _ templates: ConsoleTemplates
    ) async throws -> Response {
        let proves = visit.query["prove"] != nil
        if proves, signedIn == nil { return challenge(visit, base: base) }
        let back = back(visit.query["back"], base)
        do {
            let (place, sealed) = try await provider.begin(
                back: back, proving: proves ? signedIn : nil, redirect: redirect)
            return .seeOther(place, cookie: keeper(base: base).attemptCookie(sealed))
        } catch let problem as OIDCProblem {
            return try await failed(
                ProviderSignIn.Failure(problem: problem, back: back), visit, proves ? signedIn : nil, base, templates)
        }
    }

    private func end(
        _ provider: ProviderSignIn, _ visit: Visit, _ signedIn: SignedIn?, _ base: String,
        _ templates: ConsoleTemplates
    ) async throws -> Response {
        let keeper = keeper(base: base)
        guard let attempt = provider.attempt(visit, keeper) else {
            return try await failed(.init(problem: .attempt), visit, nil, base, templates)
        }
        let subject = SignInThrottle.Subject.provider(from: visit.address)
        guard throttle.begin(subject, at: services.wallTime()) == nil else {
            return try await failed(.init(problem: .busy), visit, nil, base, templates)
        }
        do {
            let end = try await provider.end(attempt, visit, signedIn, redirect: redirect)
            throttle.succeeded(subject)
            var response: Response
            switch end {
            case .signedIn(let name, let provenAt, let back):
                response = .seeOther(
                    self.back(back, base), cookie: try await keeper.begin(for: name, visit, provenAt: provenAt))
            case .proven(let signedIn, let back):
                try await keeper.prove(signedIn)
                response = .seeOther(self.back(back, base))
            }
            response.headers.append(HTTPField(name: .setCookie, value: keeper.attemptCookie(nil)))
            return response
        } catch let failure as ProviderSignIn.Failure {
            // What is the provider's fault is no guess of a stranger.
            if [.badGateway, .serviceUnavailable].contains(failure.problem.status) { throttle.takeBack(subject) }
            return try await failed(failure, visit, attempt.session == nil ? nil : signedIn, base, templates)
        } catch {
            throttle.takeBack(subject)
            throw error
        }
    }

    /// The page that the sign-in began from, with what was wrong.
    ///
    /// - Parameter signedIn: whose proof it was to be; `nil`: it was a sign-in.
    private func failed(
        _ failure: ProviderSignIn.Failure, _ visit: Visit, _ signedIn: SignedIn?, _ base: String,
        _ templates: ConsoleTemplates
    ) async throws -> Response {
        let problem = failure.problem
        // What is the provider's fault is no failed attempt of an operator.
        let isProviders = [.badGateway, .serviceUnavailable].contains(problem.status)
        try await noteFailure(
            of: isProviders ? nil : failure.owner ?? signedIn?.owner, visit, reason: problem.reason,
            details: ["by": "oidc"])
        let text = problem.text(provider?.configuration.name ?? "")
        var response: Response
        if let signedIn {
            response = proofPage(
                visit, signedIn, back: failure.back ?? base, base: base, templates, error: text, status: problem.status)
        } else {
            response = await signInPage(visit, base: base, templates, error: text, status: problem.status)
        }
        response.headers.append(HTTPField(name: .setCookie, value: keeper(base: base).attemptCookie(nil)))
        return response
    }
}
