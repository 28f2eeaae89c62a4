import Hummingbird
import JSON
import Logging
import PushModel
import Store

/// FCM's registrations resource: apps register, rotate and end themselves.
enum RegistrationRoutes {
    static let all: [Route] = [
        .project(.post, "registrations", .register, create).brief,
        .project(.get, "registrations", .listRegistrations, RegistrationList.list),
        .project(.get, "registrations/{registration}", .readRegistration, get),
        .project(.get, "registrations/{registration}/audit", .listRegistrations, RegistrationList.audit),
        .project(.patch, "registrations/{registration}", .changeRegistration, change),
        .project(.delete, "registrations/{registration}", .endRegistration, delete),
        .project(.post, "registrations:liftQuarantine", .liftQuarantine, liftQuarantine),
        // Room for 10,000 tokens, more than twice as long as ours.
        .project(.post, "registrations:check", .checkRegistrations, RegistrationCheck.respond).limited(
            toBytes: 4 << 20),
        .project(.post, "registrations:prune", .prune, RegistrationPrune.prune),
    ]

    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let body = try RegistrationBody(await call.json(), headers: call.headers)
        let registration = try await register(
            body.request(in: call.project), appField: body.appField, saidBy: body, call)
        return Response(json: RegistrationView(registration).brief)
    }

    /// Registers. With an installation's auth token the registration gets the installation's FID; a client needs one
    /// unless the project takes others too.
    ///
    /// - Parameters:
    ///   - appField: the field that names the app, for errors.
    ///   - body: where the request is from, for its user; `nil`: it says none.
    static func register(
        _ request: RegistrationRequest, appField: String, saidBy body: RegistrationBody?, _ call: ProjectCall
    ) async throws -> Registration {
        let store = call.services.store
        let installation = try await call.installation()
        try call.checkInstallation(installation)
        if let installation { try call.checkRate(of: installation.id) }
        var current: Registration?
        if body?.owner != nil, let installation { current = try await call.registration(of: installation) }
        let proven = try await call.provenOwner(saidBy: body, installation, current: current)
        var request = request
        request.owner = proven.owner
        request.credential = proven.credential
        request.refreshesBound = call.caller.role != .client
        try await call.checkNewRegistration(request, of: installation)
        guard let installation else { return try await store.register(request, at: call.now).registration }
        switch try await store.register(request, for: installation.id, at: call.now) {
        case .registered(let registration): return registration
        case .otherApp: throw FCMError.badRequest(appField, "The installation is registered for another app.")
        case .unknown: throw FCMError.unknownInstallation
        }
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        let registration = try await call.registration()
        return Response(json: RegistrationView(registration, in: call).full(showsService: true))
    }

    /// With another user than the registration has, the answer is the new registration that took its place. A sender
    /// changes the user alone; it is told the token if it had it.
    @Sendable private static func change(_ call: ProjectCall) async throws -> Response {
        let body = try RegistrationBody(
            await call.json(), headers: call.headers, isChange: true)
        guard call.caller.role != .sender || body.platform == nil else {
            throw FCMError(
                .permissionDenied, "With the role sender only user can be changed; the rest needs the role admin.")
        }
        let registration = try await call.registration()
        try body.check(keepsAppOf: registration, in: call.project)
        var change = try body.change(of: registration, in: call.project)
        // Another installation than the registration's proves nothing of it.
        let installation = call.caller.role == .client && registration.isBound ? try await call.installation() : nil
        let proven = try await call.provenOwner(saidBy: body, installation, current: registration)
        (change.owner, change.credential) = (proven.owner, proven.credential)
        change.keepsTopics = call.caller.role != .client || registration.isBound
        try call.checkNewRegistration(change, of: registration)
        guard let changed = try await call.services.store.change(registration.key, change, at: call.now) else {
            throw FCMError(.notFound)
        }
        let showsToken = try call.caller.role != .sender || !call.namesRegistrationByID
        return Response(json: RegistrationView(changed, in: call).full(showsToken: showsToken))
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let registration = try await call.registration()
        try await call.services.store.end(registration.key, RegistrationEnd(time: call.now, cause: .deleted))
        return Response(json: .object([]))
    }

    /// `{"app": "com.example.app", "startTime": "2026-01-02T03:04:05Z"}`; without a time all quarantines of the app. Where
    /// apps of two platforms have the id, `app` is `android:com.example.app`.
    @Sendable private static func liftQuarantine(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["app", "start_time"])
        guard let text = try body.string("app") else {
            throw FCMError.badRequest("app", "The id of the app is missing.")
        }
        let app = try app(text, of: call.project)
        let name = app.name(among: call.project.apps.keys)
        let start = try body.time("start_time") ?? Timestamp(milliseconds: 0)
        try await call.audit(.quarantineLifted, name, ["startTime": start.rfc3339])
        let lifted = try await call.services.store.liftQuarantine(of: app, in: call.project.id, since: start)
        call.logger.notice("quarantine lifted", metadata: ["app": "\(name)", "count": "\(lifted)"])
        return Response(json: .object([.init("liftedCount", .number(String(lifted)))]))
    }

    /// The app that a text names.
    ///
    /// - Throws: 400 where there is none, or where the devices of several platforms register for this id.
    private static func app(_ text: String, of project: Project) throws(FCMError) -> AppKey {
        let named = project.apps(named: text)
        let registering = named.filter(\.takesRegistrations)
        let apps = registering.isEmpty ? named : registering
        guard let app = apps.first else {
            throw .badRequest("app", "The project has no app with this id.")
                .hinting(SenderHint.bundleID(text, in: project))
        }
        guard apps.count == 1 else {
            let names = apps.map { $0.key.name(among: apps.map(\.key)) }.joined(separator: " or ")
            throw .badRequest("app", "The project has this app on several platforms: say \(names).")
        }
        return app.key
    }
}

extension ProjectCall {
    /// The registration that the path names, also an ended one. A client shows by its installation's auth token that it
    /// is its own. One that no installation made it names by the token, in a project that takes clients without an
    /// installation: a FID is not a secret.
    ///
    /// - Throws: 400 for a name of neither form, 403 for a client with what is not its own and for another project's
    ///   token, 404 when there is none.
    func registration() async throws -> Registration {
        let name = try registrationName()
        let found: Registration?
        if caller.role == .client, case .id(let id) = name {
            found = try await ownRegistration(id)
        } else {
            switch try await named(name) {
            case .known(let registration):
                try await checkOwnership(of: registration)
                found = registration
            case .ofOtherProject: throw FCMError.tokenOfOtherProject
            case .unknown: found = nil
            }
        }
        guard let found else { throw FCMError(.notFound) }
        try checkRate(of: found.id)
        return found
    }

    private func registrationName() throws(FCMError) -> RegistrationReference {
        guard let name = RegistrationReference(rawValue: try call.parameter("registration")) else {
            throw .badRequest("name", "The registration is neither an installation id nor a token.")
        }
        return name
    }

    /// Whether the path names the registration by its installation id, which is no secret.
    fileprivate var namesRegistrationByID: Bool {
        get throws(FCMError) {
            guard case .id = try registrationName() else { return false }
            return true
        }
    }

    /// The registration of the installation that proves itself, by the FID of either.
    private func ownRegistration(_ id: RegistrationID) async throws -> Registration? {
        guard let installation = try await installation() else {
            throw FCMError.installationRequired("An installation id is no secret.")
        }
        let registration = try await registration(of: installation)
        guard installation.id == id || registration?.id == id else {
            throw FCMError(
                .permissionDenied, "The registration is not that of the installation.", reason: .installationRequired)
        }
        return registration
    }

    /// The registration that the path names, when it is active.
    func activeRegistration() async throws -> Registration {
        let registration = try await registration()
        guard registration.isActive else { throw FCMError(.notFound) }
        return registration
    }
}
