import Hummingbird
import Logging
import PushModel
import Store

/// FCM's registrations resource: apps register, rotate and end themselves.
enum RegistrationRoutes {
    static let all: [Route] = [
        .project(.post, "registrations", .register, create),
        .project(.get, "registrations", .listRegistrations, RegistrationList.list),
        .project(.get, "registrations/{registration}", .readRegistration, get),
        .project(.get, "registrations/{registration}/audit", .listRegistrations, RegistrationList.audit),
        .project(.patch, "registrations/{registration}", .changeRegistration, change),
        .project(.delete, "registrations/{registration}", .changeRegistration, delete),
        .project(.post, "registrations:liftQuarantine", .liftQuarantine, liftQuarantine),
    ]

    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let body = try RegistrationBody(await call.call.json())
        let app = try body.app(of: call.project)
        guard let deviceToken = body.deviceToken else {
            throw FCMError.badRequest("ios.apns_token", "The APNs device token is missing.")
        }
        let request = RegistrationRequest(
            project: call.project.id, app: app.id, deviceToken: deviceToken,
            environment: body.environment ?? app.environment, isEnvironmentStated: body.environment != nil,
            appVersion: body.appVersion, owner: body.owner)
        let registration = try await call.services.store.register(request, at: call.now).registration
        return Response(json: RegistrationView(registration).brief)
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        let (registration, name) = try await call.registration()
        var knowsToken = call.caller.role == .admin
        if case .token = name { knowsToken = true }
        return Response(json: RegistrationView(registration, in: call).full(withToken: knowsToken))
    }

    /// With another user than the registration has, the answer is the new registration that took its place.
    @Sendable private static func change(_ call: ProjectCall) async throws -> Response {
        let body = try RegistrationBody(await call.call.json())
        let (registration, name) = try await call.registration()
        try body.check(keepsAppOf: registration)
        let change = RegistrationChange(
            deviceToken: body.deviceToken, environment: body.environment, appVersion: body.appVersion,
            owner: body.owner)
        guard let changed = try await call.services.store.change(registration.key, change, at: call.now) else {
            throw FCMError(.notFound)
        }
        var knowsToken = call.caller.role == .admin
        if case .token = name { knowsToken = true }
        return Response(json: RegistrationView(changed, in: call).full(withToken: knowsToken))
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let (registration, _) = try await call.registration()
        try await call.services.store.end(registration.key, RegistrationEnd(time: call.now, cause: .deleted))
        return Response(json: .object([]))
    }

    /// `{"app": "com.example.app", "startTime": "2026-01-02T03:04:05Z"}`; without a time all quarantines of the app.
    @Sendable private static func liftQuarantine(_ call: ProjectCall) async throws -> Response {
        let body = try await call.call.json()
        try body.refuseUnknown(except: ["app", "startTime"])
        guard let app = try body.string("app").flatMap(AppID.init(rawValue:)) else {
            throw FCMError.badRequest("app", "The bundle id of the app is missing.")
        }
        guard call.project.apps[app] != nil else {
            throw FCMError.badRequest("app", "The project has no app with this bundle id.")
        }
        var start = Timestamp(milliseconds: 0)
        if let text = try body.string("startTime") {
            guard let time = Timestamp(rfc3339: text) else {
                throw FCMError.badRequest("startTime", "startTime must be a time as 2026-01-02T03:04:05Z.")
            }
            start = time
        }
        let lifted = try await call.services.store.liftQuarantine(of: app, in: call.project.id, since: start)
        call.call.logger.notice("quarantine lifted", metadata: ["app": "\(app)", "count": "\(lifted)"])
        return Response(json: .object([.init("liftedCount", .number(String(lifted)))]))
    }
}

extension ProjectCall {
    /// The registration that the path names, also an ended one. A client has to name it by the token, which it alone
    /// was given: a FID is not a secret.
    ///
    /// - Throws: 400 for a name of neither form, 403 for a client with a FID, 404 when there is none.
    func registration() async throws -> (registration: Registration, name: RegistrationReference) {
        guard let name = RegistrationReference(rawValue: try call.parameter("registration")) else {
            throw FCMError.badRequest("name", "The registration is neither an installation id nor a token.")
        }
        if caller.role == .client, case .id = name {
            throw FCMError(
                .permissionDenied,
                "The API key has the role client: it may use a registration only by its token, not by its "
                    + "installation id. By installation id the role admin is needed.")
        }
        guard let registration = try await name.find(in: project, services.store) else { throw FCMError(.notFound) }
        return (registration, name)
    }

    /// The registration that the path names, when it is active.
    func activeRegistration() async throws -> Registration {
        let registration = try await registration().registration
        guard registration.isActive else { throw FCMError(.notFound) }
        return registration
    }
}

/// The body of a registration request, as Firebase's iOS SDK sends it (fcm.md §7.2).
struct RegistrationBody: Sendable {
    /// `ios.apns_token`.
    let deviceToken: DeviceToken?
    /// `ios.bundle_id`.
    let bundleID: String?
    /// `ios.apns_environment`.
    let environment: APNSEnvironment?
    /// `ios.app_version`.
    let appVersion: String?
    /// `user`, beside `ios`: who uses the device, empty for nobody.
    let owner: RegistrationOwner?

    /// Decodes a body.
    init(_ body: ObjectReader) throws(FCMError) {
        try body.refuseUnknown(except: ["ios", "fcm_sdk_version", "user"])
        owner = try Self.owner(body)
        // Checked for its type only: nothing depends on the SDK's version.
        _ = try body.string("fcm_sdk_version")
        guard let ios = try body.object("ios", type: "TYPE_MESSAGE") else {
            throw .badRequest("ios", "The app's registration is missing: an object with apns_token and bundle_id.")
        }
        try ios.refuseUnknown(except: ["apns_token", "bundle_id", "apns_environment", "app_version"])
        deviceToken = try Self.deviceToken(ios)
        bundleID = try ios.string("bundle_id")
        environment = try Self.environment(ios)
        appVersion = try Self.appVersion(ios)
    }

    /// The app that registers.
    func app(of project: Project) throws(FCMError) -> App {
        guard let bundleID else { throw .badRequest("ios.bundle_id", "The bundle id is missing.") }
        guard let app = AppID(rawValue: bundleID).flatMap({ project.apps[$0] }) else {
            throw .badRequest("ios.bundle_id", "The project has no app with this bundle id.")
        }
        return app
    }

    /// Refuses a change of the app: another app is another registration.
    func check(keepsAppOf registration: Registration) throws(FCMError) {
        guard bundleID == nil || bundleID == registration.app.rawValue else {
            throw .badRequest("ios.bundle_id", "The bundle id is not that of the registration and can't be changed.")
        }
    }

    private static func owner(_ body: ObjectReader) throws(FCMError) -> RegistrationOwner? {
        guard let text = try body.string("user") else { return nil }
        guard !text.isEmpty else { return .nobody }
        guard let user = UserID(rawValue: text) else {
            throw .badRequest("user", "The user must be \(UserID.expectation), or empty for nobody.")
        }
        return .user(user)
    }

    private static func deviceToken(_ ios: ObjectReader) throws(FCMError) -> DeviceToken? {
        guard let text = try ios.string("apns_token") else { return nil }
        guard let token = DeviceToken(hex: text) else {
            throw .badRequest("ios.apns_token", "The APNs device token must be \(DeviceToken.hexExpectation).")
        }
        return token
    }

    private static func environment(_ ios: ObjectReader) throws(FCMError) -> APNSEnvironment? {
        switch try ios.string("apns_environment") {
        case nil: return nil
        case "PROD": return .production
        case "SANDBOX": return .sandbox
        case .some:
            throw .badRequest("ios.apns_environment", "The APNs environment must be PROD or SANDBOX.")
        }
    }

    private static func appVersion(_ ios: ObjectReader) throws(FCMError) -> String? {
        guard let version = try ios.string("app_version") else { return nil }
        guard version.utf8.count <= 255 else {
            throw .badRequest("ios.app_version", "The app version must not be longer than 255 bytes.")
        }
        return version
    }
}

/// A registration as callers see it.
struct RegistrationView {
    let registration: Registration
    private let isStale: Bool

    init(_ registration: Registration) {
        self.registration = registration
        isStale = false
    }

    /// A view that says whether the registration is stale by the project's policy.
    init(_ registration: Registration, in call: ProjectCall) {
        self.registration = registration
        isStale = call.project.stale.shows(registration, at: call.now)
    }

    /// The answer to the app that registered.
    var brief: JSONValue {
        .object([
            .init("name", .string(registration.resourceName)), .init("token", .string(registration.token.rawValue)),
        ])
    }

    /// Everything but the device token; the registration token only for those who may hold it.
    func full(withToken: Bool) -> JSONValue {
        var members: [JSONValue.Member] = [.init("name", .string(registration.resourceName))]
        if withToken { members.append(.init("token", .string(registration.token.rawValue))) }
        members += [
            .init("app", .string(registration.app.rawValue)),
            .init("apnsEnvironment", .string(registration.environment == .production ? "PROD" : "SANDBOX")),
        ]
        if let version = registration.appVersion { members.append(.init("appVersion", .string(version))) }
        if let user = registration.user { members.append(.init("user", .string(user.rawValue))) }
        members.append(.init("createTime", .string(registration.createdAt.rfc3339)))
        return .object(members + stateMembers)
    }

    /// When it was refreshed, whether it is alive, and why not.
    var stateMembers: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("refreshTime", .string(registration.refreshedAt.rfc3339)), .init("state", .string(state)),
        ]
        if isStale { members.append(.init("stale", .bool(true))) }
        if let quarantine = registration.quarantine, registration.isActive {
            members += [
                .init("quarantineTime", .string(quarantine.time.rfc3339)),
                .init("quarantineReason", .string(quarantine.reason.rawValue)),
            ]
        }
        if let end = registration.end {
            members += [
                .init("endTime", .string(end.time.rfc3339)),
                .init("endCause", .string(end.cause.rawValue.uppercased())),
            ]
        }
        return members
    }

    private var state: String {
        guard registration.isActive else { return "ENDED" }
        return registration.quarantine == nil ? "ACTIVE" : "QUARANTINED"
    }
}

extension Registration {
    /// `projects/<id>/registrations/<fid>`.
    var resourceName: String { "projects/\(project)/registrations/\(id)" }
}
