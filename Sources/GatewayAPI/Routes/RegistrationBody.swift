import Crypto
import Foundation
import HTTPTypes
import PushModel
import Store

/// The body of a registration request, as Firebase's iOS and web SDKs send it (fcm.md §7.2).
struct RegistrationBody: Sendable {
    /// Which of the two it has: `ios` or `web`.
    let platform: Platform
    /// `ios.apns_token`, or what stands for the endpoint of a browser.
    let deviceToken: DeviceToken?
    /// `ios.bundle_id`.
    let bundleID: String?
    /// `ios.apns_environment`.
    let environment: APNSEnvironment?
    /// `ios.app_version`.
    let appVersion: String?
    /// `web.endpoint`, `web.p256dh`, `web.auth` and `web.applicationPubKey`.
    let web: WebSubscription?
    /// `web.origin`, otherwise the Origin header.
    let origin: WebOrigin
    /// `user`, beside `ios` and `web`: who uses the device, empty for nobody.
    let owner: RegistrationOwner?

    /// Decodes a body.
    ///
    /// - Parameter headers: a page's own request names it by its Origin header.
    init(_ body: ObjectReader, headers: HTTPFields) throws(FCMError) {
        try body.refuseUnknown(except: ["ios", "web", "fcm_sdk_version", "user"])
        owner = try Self.owner(body)
        // Checked for its type only: nothing depends on the SDK's version.
        _ = try body.string("fcm_sdk_version")
        let ios = try body.object("ios", type: "TYPE_MESSAGE")
        guard let web = try body.object("web", type: "TYPE_MESSAGE") else {
            guard let ios else {
                throw .badRequest("ios", "The app's registration is missing: an object with apns_token and bundle_id.")
            }
            try ios.refuseUnknown(except: ["apns_token", "bundle_id", "apns_environment", "app_version"])
            platform = .apple
            deviceToken = try Self.deviceToken(ios)
            bundleID = try ios.string("bundle_id")
            environment = try Self.environment(ios)
            appVersion = try Self.appVersion(ios)
            self.web = nil
            origin = WebOrigin(nil, header: nil)
            return
        }
        guard ios == nil else { throw .badRequest("web", "A registration is of ios or web, not of both.") }
        try web.refuseUnknown(except: ["origin", "endpoint", "p256dh", "auth", "application_pub_key"])
        platform = .web
        self.web = try WebSubscription(endpointIn: web, keysIn: web)
        deviceToken = self.web?.identity
        bundleID = nil
        environment = nil
        appVersion = nil
        origin = WebOrigin(try web.string("origin"), header: headers[.origin])
    }

    /// What the app asks for when it registers.
    func request(in project: Project) throws(FCMError) -> RegistrationRequest {
        let app = try app(of: project)
        guard let deviceToken else {
            throw platform == .web
                ? .badRequest("web.endpoint", "The endpoint of the push service is missing.")
                : .badRequest("ios.apns_token", "The APNs device token is missing.")
        }
        return RegistrationRequest(
            project: project.id, app: app.id, deviceToken: deviceToken,
            environment: environment ?? app.environment, isEnvironmentStated: environment != nil,
            appVersion: appVersion, owner: owner, web: web)
    }

    /// What the app changes.
    var change: RegistrationChange {
        RegistrationChange(
            deviceToken: deviceToken, environment: environment, appVersion: appVersion, owner: owner, web: web)
    }

    /// The field that names the app.
    var appField: String { platform == .web ? "web.origin" : "ios.bundle_id" }

    /// Refuses a change of the app: another app is another registration.
    func check(keepsAppOf registration: Registration, in project: Project) throws(FCMError) {
        let isWeb = project.apps[registration.app]?.platform == .web
        guard isWeb == (platform == .web) else {
            throw .badRequest(
                platform == .web ? "web" : "ios", "The registration is of another platform and can't be changed to it.")
        }
        guard bundleID == nil || bundleID == registration.app.rawValue else {
            throw .badRequest("ios.bundle_id", "The bundle id is not that of the registration and can't be changed.")
        }
        guard origin.stated == nil || origin.stated == registration.app.rawValue else {
            throw .badRequest("web.origin", "The origin is not that of the registration and can't be changed.")
        }
    }

    /// The app that registers.
    private func app(of project: Project) throws(FCMError) -> App {
        if platform == .web { return try origin.app(of: project, field: "web.origin") }
        guard let bundleID else { throw .badRequest("ios.bundle_id", "The bundle id is missing.") }
        guard let app = project.appleApp(bundleID) else {
            throw .badRequest("ios.bundle_id", "The project has no app with this bundle id.")
        }
        return app
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

/// Which web app a page is of: what it says itself, otherwise what its browser says, otherwise the only one there is.
struct WebOrigin: Sendable {
    /// The host that the page names, in lower case.
    let stated: String?
    private let header: String?

    /// Takes `origin` of a body and the Origin header.
    init(_ stated: String?, header: String?) {
        self.stated = stated.flatMap { $0.isEmpty ? nil : Self.host(of: $0) }
        self.header = header.flatMap { $0 == "null" ? nil : Self.host(of: $0) }
    }

    /// The web app of the project.
    func app(of project: Project, field: String) throws(FCMError) -> App {
        let apps = project.apps.values.filter { $0.platform == .web }
        if let host = stated ?? header {
            if let app = apps.first(where: { $0.id.rawValue == host }) { return app }
            throw .badRequest(field, "The project has no web app of this origin.")
        }
        guard apps.count == 1, let app = apps.first else {
            throw .badRequest(
                field,
                apps.isEmpty
                    ? "The project has no web app."
                    : "The project has several web apps: the origin is missing.")
        }
        return app
    }

    /// `www.example.com` of `https://www.example.com:8443/path`.
    private static func host(of text: String) -> String {
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        return rest.prefix { $0 != "/" && $0 != ":" }.lowercased()
    }
}

extension WebSubscription {
    /// Reads `endpoint` of one object and `p256dh`, `auth` of the same or another one.
    ///
    /// - Returns: `nil` when none of them is there.
    /// - Throws: 400 with the field that is missing or wrong.
    init?(endpointIn body: ObjectReader, keysIn keys: ObjectReader) throws(FCMError) {
        let endpoint = try body.string("endpoint")
        let key = try Self.bytes("p256dh", of: keys)
        let secret = try Self.bytes("auth", of: keys)
        let applicationKey = try Self.bytes("application_pub_key", of: body)
        guard endpoint != nil || key != nil || secret != nil || applicationKey != nil else { return nil }
        guard let endpoint else {
            throw .badRequest(body.fullPath("endpoint"), "The endpoint of the push service is missing.")
        }
        guard let key, Self.isPoint(key) else {
            throw .badRequest(
                keys.fullPath("p256dh"), "p256dh must be a P-256 public key: 65 bytes in base64url.")
        }
        guard let secret, secret.count == 16 else {
            throw .badRequest(keys.fullPath("auth"), "auth must be 16 bytes in base64url.")
        }
        guard applicationKey.map(Self.isPoint) ?? true else {
            throw .badRequest(
                body.fullPath("application_pub_key"),
                "applicationPubKey must be a P-256 public key: 65 bytes in base64url.")
        }
        guard let web = WebSubscription(endpoint: endpoint, key: key, secret: secret, applicationKey: applicationKey)
        else {
            throw .badRequest(
                body.fullPath("endpoint"), "The endpoint must be an https URL of at most \(Self.endpointLimit) bytes.")
        }
        self = web
    }

    /// What stands for the browser where other registrations have a device token: SHA-256 of the endpoint.
    var identity: DeviceToken {
        // 32 bytes: never empty.
        DeviceToken(bytes: Array(SHA256.hash(data: Data(endpoint.utf8))))!
    }

    /// Base64 of either alphabet, padded or not: browsers and old libraries differ.
    private static func bytes(_ name: String, of body: ObjectReader) throws(FCMError) -> [UInt8]? {
        guard let text = try body.string(name) else { return nil }
        var plain = text.replacing("+", with: "-").replacing("/", with: "_")
        while plain.hasSuffix("=") { plain.removeLast() }
        return Base64URL.bytes(plain) ?? []
    }

    private static func isPoint(_ bytes: [UInt8]) -> Bool {
        bytes.count == 65 && (try? P256.KeyAgreement.PublicKey(x963Representation: bytes)) != nil
    }
}

extension Project {
    /// The Apple app with this bundle id.
    func appleApp(_ bundleID: String) -> App? {
        guard let app = AppID(rawValue: bundleID).flatMap({ apps[$0] }), app.platform == .apple else { return nil }
        return app
    }
}
