import HTTPTypes
import Hummingbird
import HummingbirdCore
import Links
import Logging
import PushModel
import Store

/// The pages of signing in and out, and of the operator's own account.
struct SignInPages: Sendable {
    let services: ConsoleServices
    let path: String
    let throttle = SignInThrottle()
    /// `nil`: operators sign in here alone.
    let provider: ProviderSignIn?
    private let passwords = PasswordChecker()

    init(services: ConsoleServices, configuration: ConsoleConfiguration) {
        self.services = services
        path = configuration.path
        provider = configuration.oidc.map { ProviderSignIn($0, services) }
    }

    /// An operator whose projects are all gone.
    static let noProject = ConsoleError(
        .forbidden, "You have no project", "An admin can give you a role: herald operator create NAME --project …")

    /// Keeps the sessions of a console that the browser sees at `base`.
    func keeper(base: String) -> SessionKeeper {
        SessionKeeper(
            store: services.store, wallTime: services.wallTime, path: base, publicURL: services.publicURL)
    }

    /// The way to the sign-in page, from which the browser comes back.
    func challenge(_ visit: Visit, base: String) -> Response {
        if visit.query["live"] != nil { return .console("Sign in again.\n", "text/plain", status: .unauthorized) }
        let isPage = visit.request.method == .get && !visit.segments.isEmpty
        let back = isPage ? "?back=" + (base + visit.request.uri.string.dropFirst(path.utf8.count)).urlEncoded : ""
        return .seeOther("\(base)/sign-in\(back)")
    }

    /// Answers what is no project's; `nil`: it is one's.
    func respond(
        to visit: Visit, _ signedIn: SignedIn?, base: String, _ templates: ConsoleTemplates
    ) async throws -> Response? {
        let isPost = visit.request.method == .post
        switch (visit.segments.first, visit.segments.count) {
        case ("link", 2):
            return isPost ? try await redeem(visit, base) : linkPage(signedIn, base, templates)
        case ("sign-in", 1):
            return isPost
                ? try await signIn(visit, base, templates) : await signInPage(visit, base: base, templates)
        case ("sign-in", _) where visit.segments[1] == "oidc":
            return try await providerResponse(to: visit, signedIn, base, templates)
        case ("sign-out", 1) where isPost:
            let place = "\(base)/sign-in" + (provider == nil ? "" : "?out=1")
            guard let signedIn else { return .seeOther(place) }
            return .seeOther(place, cookie: try await keeper(base: base).end(signedIn))
        case ("prove", 1):
            guard let signedIn else { return challenge(visit, base: base) }
            return isPost
                ? try await prove(visit, signedIn, base, templates)
                : proofPage(visit, signedIn, back: back(visit.query["back"], base), base: base, templates)
        case ("account", _):
            guard let signedIn else { return challenge(visit, base: base) }
            return try await account(visit, signedIn, base, templates)
        default: return nil
        }
    }

    // MARK: Signing in

    /// What a link opens: a button. Scanners of chats and mails open links; they do not send forms, and no page of another
    /// origin can.
    private func linkPage(_ signedIn: SignedIn?, _ base: String, _ templates: ConsoleTemplates) -> Response {
        let model: Model = ["current": signedIn?.owner.name.rawValue ?? "", "isSignedIn": signedIn != nil]
        return page(.signInLink, "Sign in", model, signedIn, base, templates)
    }

    /// Signs in by a link.
    private func redeem(_ visit: Visit, _ base: String) async throws -> Response {
        let digest = SessionSecret.digest(of: visit.segments[1])
        guard let name = try await services.store.redeem(link: digest, at: services.wallTime()) else {
            throw ConsoleError(
                .gone, "This sign-in link has been used, or is over",
                "A link works once, within 15 minutes. Make another one with: herald operator link NAME")
        }
        return .seeOther(base, cookie: try await keeper(base: base).begin(for: name, visit))
    }

    /// The page that asks for name and password, or leads to the provider.
    func signInPage(
        _ visit: Visit, base: String, _ templates: ConsoleTemplates, error: String? = nil,
        status: HTTPResponse.Status = .ok
    ) async -> Response {
        let back = back(visit.form["back"] ?? visit.query["back"], base)
        let url = "\(services.publicURL())\(path)/sign-in"
        let provider = await provider?.model(visit, at: url, back: back, base: base)
        let model: Model = ["back": back, "wide": false]
        return page(
            .signIn, "Sign in",
            model.with("error", error).with("name", visit.form["name"]).with("provider", provider), nil, base,
            templates, status: status)
    }

    private func signIn(_ visit: Visit, _ base: String, _ templates: ConsoleTemplates) async throws -> Response {
        let (name, now) = (visit.form["name"] ?? "", services.wallTime())
        let subject = SignInThrottle.Subject.name(name, from: visit.address)
        if let wait = throttle.begin(subject, at: now) {
            log("too many attempts", nil, visit)
            return await signInPage(
                visit, base: base, templates,
                error:
                    "Too many attempts. Wait \(Format.span(milliseconds: wait.wholeMilliseconds)), or use a sign-in link.",
                status: .tooManyRequests)
        }
        var owner: Operator?
        if let name = OperatorName(rawValue: name) { owner = try await services.store.console(operator: name) }
        if owner?.revokedAt != nil { owner = nil }
        guard let isRight = try await isProof(visit, of: owner, subject) else {
            return await signInPage(
                visit, base: base, templates, error: "Too many are signing in at this moment. Try again.",
                status: .serviceUnavailable)
        }
        guard isRight, let owner else {
            try await noteFailure(of: owner, visit)
            return await signInPage(
                visit, base: base, templates,
                error: "Name, password or one-time code is wrong.", status: .unauthorized)
        }
        throttle.succeeded(subject)
        let cookie = try await keeper(base: base).begin(for: owner.name, visit)
        return .seeOther(back(visit.form["back"], base), cookie: cookie)
    }

    /// Notes a sign-in that failed: in the log, and of an operator in the audit log of each of the projects. A name that
    /// no operator has is not written down: it may be a password in the wrong field.
    func noteFailure(
        of owner: Operator?, _ visit: Visit, reason: String = "a secret is wrong", details: [String: String] = [:]
    ) async throws {
        log(reason, owner, visit)
        guard let owner else { return }
        for project in owner.roles.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            try await services.store.record(
                AuditEntry(
                    time: services.wallTime(), project: project, action: .operatorFailedToSignIn,
                    subject: owner.name.rawValue, details: details,
                    credential: CredentialUse(id: "console", name: "sign-in page", address: visit.address)))
        }
    }

    private func log(_ reason: String, _ owner: Operator?, _ visit: Visit) {
        services.logger.notice(
            "console: a sign-in failed",
            metadata: [
                "operator": "\(owner?.name.rawValue ?? "unknown")", "address": "\(visit.address ?? "unknown")",
                "reason": "\(reason)",
            ])
    }

    /// As ``isProof(_:of:)``; an attempt of which nothing is known does not count.
    private func isProof(
        _ visit: Visit, of owner: Operator?, _ subject: SignInThrottle.Subject
    ) async throws -> Bool? {
        do {
            let isRight = try await isProof(visit, of: owner)
            if isRight == nil { throttle.takeBack(subject) }
            return isRight
        } catch {
            throttle.takeBack(subject)
            throw error
        }
    }

    /// Whether a form has the password and one-time code of an operator; `nil`: too many ask. As slow for an unknown name as for
    /// a known one.
    private func isProof(_ visit: Visit, of owner: Operator?) async throws -> Bool? {
        let password = String(visit.form.text("password").prefix(PasswordHash.longest))
        guard let isRight = try await passwords.matches(password, owner?.passwordHash) else { return nil }
        guard isRight, let owner else { return false }
        guard let key = owner.oneTimeKey else { return true }
        guard let step = OneTimeCode.step(of: visit.form.text("code"), key: key, at: services.wallTime()) else {
            return false
        }
        return try await services.store.useOneTimeCode(ofStep: step, by: owner.name)
    }

    // MARK: Proving again

    /// The page that asks who the operator is, before something that needs it.
    func proofPage(
        _ visit: Visit, _ signedIn: SignedIn, back: String, base: String, _ templates: ConsoleTemplates,
        error: String? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        let model: Model = [
            "back": self.back(back, base), "hasPassword": signedIn.owner.passwordHash != nil,
            "hasCode": signedIn.owner.oneTimeKey != nil,
        ]
        let provider = provider?.proofModel(back: self.back(back, base), base: base)
        return page(
            .prove, "Confirm that it is you", model.with("error", error).with("provider", provider), signedIn, base,
            templates, status: status)
    }

    private func prove(
        _ visit: Visit, _ signedIn: SignedIn, _ base: String, _ templates: ConsoleTemplates
    ) async throws -> Response {
        let subject = SignInThrottle.Subject.session(signedIn.session.id)
        let place = back(visit.form["back"], base)
        guard throttle.begin(subject, at: services.wallTime()) == nil else {
            return proofPage(
                visit, signedIn, back: place, base: base, templates, error: "Too many attempts. Wait some minutes.",
                status: .tooManyRequests)
        }
        guard let isRight = try await isProof(visit, of: signedIn.owner, subject) else {
            return proofPage(
                visit, signedIn, back: place, base: base, templates,
                error: "Too many are signing in at this moment. Try again.", status: .serviceUnavailable)
        }
        guard isRight else {
            try await noteFailure(of: signedIn.owner, visit)
            return proofPage(
                visit, signedIn, back: place, base: base, templates, error: "Password or one-time code is wrong.",
                status: .unauthorized)
        }
        throttle.succeeded(subject)
        try await keeper(base: base).prove(signedIn)
        return .seeOther(place)
    }

    /// Where to go on: a page of this console, nothing else.
    func back(_ text: String?, _ base: String) -> String {
        guard let text, text.hasPrefix(base + "/p/"), !text.contains("//"), !text.contains("\\"),
            text.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value < 127 })
        else { return base }
        return text
    }

    // MARK: The account

    private func account(
        _ visit: Visit, _ signedIn: SignedIn, _ base: String, _ templates: ConsoleTemplates
    ) async throws -> Response {
        let store = services.store
        let owner = signedIn.owner
        guard visit.request.method == .post else {
            return try await accountPage(visit, signedIn, base, templates)
        }
        let keeper = keeper(base: base)
        let credential = signedIn.credential(from: visit.address)
        switch visit.segments.dropFirst().first {
        case "sessions":
            _ = try await store.endSession(visit.form.text("id"), of: owner.name)
            return .seeOther("\(base)/account")
        case _ where !keeper.isProven(signedIn):
            return proofPage(visit, signedIn, back: "\(base)/account", base: base, templates)
        case "password":
            let password = visit.form.text("password")
            guard password.count >= PasswordHash.shortest, password.utf8.count <= PasswordHash.longest else {
                return try await accountPage(
                    visit, signedIn, base, templates,
                    error: "A password has at least \(PasswordHash.shortest) characters.")
            }
            _ = try await store.set(
                .password(hash: try await passwords.hash(password)), of: owner.name,
                keeping: signedIn.session.digest, at: services.wallTime(), by: credential)
            return .seeOther("\(base)/account?done=password")
        case "codes":
            guard let key = OneTimeCode.key(base32: visit.form.text("key")),
                OneTimeCode.step(of: visit.form.text("code"), key: key, at: services.wallTime()) != nil
            else {
                return try await accountPage(
                    visit, signedIn, base, templates,
                    error: "The code does not fit the key. Check the clock of your device and try again.")
            }
            _ = try await store.set(
                .oneTimeKey(key), of: owner.name, keeping: signedIn.session.digest, at: services.wallTime(),
                by: credential)
            return .seeOther("\(base)/account?done=codes")
        case "no-codes":
            _ = try await store.set(
                .oneTimeKey(nil), of: owner.name, keeping: signedIn.session.digest, at: services.wallTime(),
                by: credential)
            return .seeOther("\(base)/account?done=no-codes")
        default: throw ConsoleError.notFound
        }
    }

    private func accountPage(
        _ visit: Visit, _ signedIn: SignedIn, _ base: String, _ templates: ConsoleTemplates, error: String? = nil
    ) async throws -> Response {
        let owner = signedIn.owner
        let sessions = try await services.store.sessions(of: owner.name).map { session in
            [
                "id": session.id,
                "address": session.address ?? "–",
                "browser": session.browser ?? "–",
                "created": Format.time(session.createdAt),
                "used": Format.time(session.usedAt),
                "current": session.id == signedIn.session.id,
            ] as Model
        }
        let key = OneTimeCode.key(base32: visit.form.text("key")) ?? OneTimeCode.randomKey()
        let url = OneTimeCode.url(
            key: key, name: owner.name.rawValue,
            issuer: "Herald \(services.publicURL().split(separator: "/").last ?? "")")
        let roles = owner.roles.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            [
                "project": $0.key.rawValue,
                "role": $0.value.rawValue,
            ] as Model
        }
        let model: Model = [
            "sessions": sessions, "roles": roles, "hasPassword": owner.passwordHash != nil,
            "hasCodes": owner.oneTimeKey != nil, "key": OneTimeCode.base32(key),
            "qr": Markup(try QRCode(url).svg(pixels: 180)), "shortest": PasswordHash.shortest,
        ]
        let done = [
            "password": "The password is set.", "codes": "One-time codes are asked for from now on.",
            "no-codes": "One-time codes are not asked for any more.",
        ]
        return page(
            .account, "Your account",
            model.with("error", error).with("done", visit.query["done"].flatMap { done[$0] }), signedIn, base,
            templates, status: error == nil ? .ok : .badRequest)
    }

    private func page(
        _ template: ConsoleTemplate, _ title: String, _ model: Model, _ signedIn: SignedIn?, _ base: String,
        _ templates: ConsoleTemplates, status: HTTPResponse.Status = .ok
    ) -> Response {
        let page = Reply.Page(template: template, title: title, model: model)
        let layout = Layout(signedIn, project: nil, role: nil, base: base, services: services)
        return .html(templates.render(page, layout.model(for: page, at: "")), status: status)
    }
}
