import HTTPTypes
import Hummingbird
import JSON
import PushModel
import Store

/// Firebase Installations: an app install gets a FID and tokens that prove it is this install (fcm.md §7.1).
enum InstallationRoutes {
    static let all: [Route] = [
        .project(.post, "installations", .install, create),
        .project(.post, "installations/{installation}/authTokens:generate", .install, generate),
        .project(.delete, "installations/{installation}", .install, delete),
    ]

    /// How long an auth token is valid, in seconds: SDKs ask for another one in time.
    static let tokenLifetime: Int64 = 604_800

    /// The FID that the installation wishes for; `nil`: it gets one.
    private static func identifier(of body: ObjectReader) throws -> RegistrationID? {
        guard let text = try body.string("fid"), !text.isEmpty else { return nil }
        guard let id = RegistrationID(rawValue: text) else {
            throw FCMError.badRequest("fid", "fid must be 22 characters of [A-Za-z0-9_-], the first of c, d, e, f.")
        }
        // One that stands for a broadcast channel is never an installation's.
        return id.isOfChannel ? nil : id
    }

    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["fid", "auth_version", "app_id", "sdk_version"])
        let id = try identifier(of: body)
        if let version = try body.string("auth_version"), version != "FIS_v2" {
            throw FCMError.badRequest("auth_version", "authVersion must be FIS_v2.")
        }
        guard let app = try text("app_id", of: body), !app.isEmpty else {
            throw FCMError.badRequest("app_id", "appId is missing: the Firebase app id.")
        }
        try call.call.checkNewRegistrations(1, of: call.caller)
        let refresh = InstallationSecret()
        let auth = InstallationSecret()
        let given = try await call.services.store.install(
            NewInstallation(
                project: call.project.id, id: id, app: app, sdkVersion: try text("sdk_version", of: body),
                refreshDigest: refresh.digest, token: stored(auth, call)),
            at: call.now)
        return Response(
            json: .object([
                .init("name", .string("\(call.projectName)/installations/\(given)")),
                .init("fid", .string(given.rawValue)), .init("refreshToken", .string(refresh.text)),
                .init("authToken", view(auth)),
            ]))
    }

    @Sendable private static func generate(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json(allowsEmpty: true)
        try body.refuseUnknown(except: ["installation"])
        if let installation = try body.object("installation", type: "TYPE_MESSAGE") {
            try installation.refuseUnknown(except: ["sdk_version", "app_id"])
            for name in ["sdk_version", "app_id"] { _ = try text(name, of: installation) }
        }
        let installation = try await proven(call)
        try call.checkRate(of: installation.id)
        let auth = InstallationSecret()
        let isThere = try await call.services.store.addToken(
            stored(auth, call), to: installation.id, in: call.project.id, at: call.now)
        guard isThere else { throw FCMError(.notFound) }
        return Response(json: view(auth))
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let installation = try await proven(call)
        try await call.services.store.uninstall(installation.id, in: call.project.id, at: call.now)
        return Response(json: .object([]))
    }

    /// The installation of the path, with its refresh token in `Authorization: FIS_v2 …`.
    ///
    /// - Throws: 404 for an unknown one, 401 for a wrong token: SDKs make a new installation after either.
    private static func proven(_ call: ProjectCall) async throws -> Installation {
        guard let id = RegistrationID(rawValue: try call.parameter("installation")) else {
            throw FCMError.badRequest("name", "The installation is no installation id.")
        }
        let header = call.headers[.authorization] ?? ""
        guard let token = SchemeCredential.value(of: "fis_v2 ", in: header) else {
            throw FCMError(
                .unauthenticated,
                "The refresh token is missing. Expected 'Authorization: FIS_v2 <refresh token>' beside "
                    + "'X-Goog-Api-Key: <key>'.")
        }
        guard let installation = try await call.services.store.installation(id, in: call.project.id) else {
            throw FCMError(.notFound)
        }
        guard InstallationSecret.matches(token, installation.refreshDigest) else {
            throw FCMError(
                .unauthenticated, "The refresh token is not that of the installation.", reason: .installationInvalid)
        }
        return installation
    }

    private static func stored(_ auth: InstallationSecret, _ call: ProjectCall) -> InstallationToken {
        InstallationToken(digest: auth.digest, expiresAt: call.now + .seconds(tokenLifetime))
    }

    private static func view(_ auth: InstallationSecret) -> JSONValue {
        .object([
            .init("token", .string(auth.text)), .init("expiresIn", .string("\(tokenLifetime)s")),
        ])
    }

    /// A text that is kept or passed over, and not long.
    private static func text(_ name: String, of body: ObjectReader) throws(FCMError) -> String? {
        guard let text = try body.string(name) else { return nil }
        guard text.utf8.count <= 255 else {
            throw .badRequest(body.fullPath(name), "The value must not be longer than 255 bytes.")
        }
        return text
    }
}
