import HTTPTypes
import PushModel
import Store

/// What changes who may do what. Each of it needs a proof of who the operator is.
enum AccessActs {
    static let routes: [ConsoleRoute] = [
        .post("access/operator", .admin, needsProof: true, grant),
        .post("access/link", .admin, needsProof: true, link),
        .post("access/revoke", .admin, needsProof: true, revoke),
        .post("access/key", .admin, needsProof: true, makeKey),
        .post("access/revoke-key", .admin, needsProof: true, revokeKey),
        .post("access/account", .admin, needsProof: true, switchAccount),
    ]

    @Sendable private static func grant(_ call: ConsoleCall) async throws -> Reply {
        guard let name = OperatorName(rawValue: call.visit.form["name"] ?? ""),
            let role = OperatorRole(rawValue: call.visit.form.text("role"))
        else {
            throw ConsoleError(
                .badRequest, "No operator was added", "A name has letters, digits and ._@- (64 at most).")
        }
        guard name != call.signedIn.owner.name else {
            throw ConsoleError(.badRequest, "Your own role stays", "Another admin can change it.")
        }
        let link = ConsoleSignInLink(for: name, at: call.now)
        let invitation = try await call.store.invite(
            role, in: call.project.id, with: link.record, at: call.now, by: call.use.credential)
        switch invitation {
        case .changed: return .redirect("\(call.root)/access")
        case .invited: return try await show(link, for: name, call)
        case .isElsewhere:
            throw ConsoleError(
                .conflict, "This name belongs to another project",
                "It was given out by an admin there, perhaps to another person than you mean. Take another name, or ask the "
                    + "owner of the gateway for: herald operator create \(name) --project \(call.project.id) --role \(role.rawValue)"
            )
        }
    }

    @Sendable private static func link(_ call: ConsoleCall) async throws -> Reply {
        let name = try await operatorOfProject(call)
        // A link signs in to everything that its operator may: who makes it must be an admin there, too.
        try await checkPower(over: name, call)
        let link = ConsoleSignInLink(for: name, at: call.now)
        guard try await call.store.insert(link.record) else { throw ConsoleError.notFound }
        try await call.audit(.operatorLinked, name.rawValue)
        return try await show(link, for: name, call)
    }

    private static func show(
        _ link: ConsoleSignInLink, for name: OperatorName, _ call: ConsoleCall
    ) async throws -> Reply {
        let base = call.services.publicURL()
        let path = call.consolePath
        return try await AccessPages.page(
            call,
            showing: .init(
                title: "A link that signs \(name) in once, within 15 minutes", value: link.url(below: base, path: path))
        )
    }

    @Sendable private static func revoke(_ call: ConsoleCall) async throws -> Reply {
        let name = try await operatorOfProject(call)
        guard name != call.signedIn.owner.name else {
            throw ConsoleError(.badRequest, "You can’t revoke yourself", "Another admin can.")
        }
        _ = try await call.store.revoke(name, in: call.project.id, at: call.now, by: call.use.credential)
        return .redirect("\(call.root)/access")
    }

    private static func operatorOfProject(_ call: ConsoleCall) async throws -> OperatorName {
        guard let name = OperatorName(rawValue: call.visit.form.text("name")),
            try await call.store.console(operator: name)?.roles[call.project.id] != nil
        else { throw ConsoleError.notFound }
        return name
    }

    private static func checkPower(over name: OperatorName, _ call: ConsoleCall) async throws {
        let other = try await call.store.console(operator: name)
        let own = call.signedIn.owner.roles
        guard other?.roles.keys.allSatisfy({ own[$0] == .admin }) == true else {
            throw ConsoleError(
                .forbidden, "This operator has other projects",
                "A link would sign in to these, too: make it on the gateway’s machine with herald operator link.")
        }
    }

    @Sendable private static func makeKey(_ call: ConsoleCall) async throws -> Reply {
        let form = call.visit.form
        guard let role = Role(rawValue: form.text("role")),
            form["name"].map(APIKeyRecord.isName) ?? true
        else {
            throw ConsoleError(
                .badRequest, "No key was made", "A name has 1 to 100 characters, none of them a control character.")
        }
        let end = form["days"].flatMap { Int64($0) }.map { call.now + .seconds(min(max($0, 1), 3650) * 86_400) }
        let key = call.services.makeKey(call.project.id, role, call.now, form["name"], end)
        try await call.store.insert(key.record, by: call.use.credential)
        return try await AccessPages.page(
            call, showing: .init(title: "The key \(key.record.id) (\(role.rawValue))", value: key.text))
    }

    @Sendable private static func revokeKey(_ call: ConsoleCall) async throws -> Reply {
        let id = call.visit.form.text("id")
        guard try await call.store.apiKey(id)?.project == call.project.id else { throw ConsoleError.notFound }
        _ = try await call.store.revoke(id, at: call.now, by: call.use.credential)
        return .redirect("\(call.root)/access")
    }

    @Sendable private static func switchAccount(_ call: ConsoleCall) async throws -> Reply {
        guard let email = ServiceAccountEmail(rawValue: call.visit.form.text("email")),
            email.project == call.project.id
        else { throw ConsoleError.notFound }
        let isFound =
            call.visit.form.text("act") == "enable"
            ? try await call.store.enable(email, at: call.now, by: call.use.credential)
            : try await call.store.disable(email, at: call.now, by: call.use.credential)
        guard isFound else { throw ConsoleError.notFound }
        return .redirect("\(call.root)/access")
    }
}
