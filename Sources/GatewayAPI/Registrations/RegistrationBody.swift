import HTTPTypes
import PushModel
import Store

/// The body of a registration request, as Firebase's iOS and web SDKs send it (fcm.md §7.2), or as an Android app does that
/// posts the token of its own SDK.
struct RegistrationBody: Sendable {
    /// Which of the three it has: `ios`, `android` or `web`; `nil`: a change of the user alone.
    let platform: Platform?
    /// `ios.apns_token`.
    let deviceToken: DeviceToken?
    /// `ios.bundle_id`, `android.package_name`.
    let bundleID: String?
    /// `ios.apns_environment`.
    let environment: PushEnvironment?
    /// `ios.app_version`, `android.app_version`.
    let appVersion: String?
    /// `android.fcm_token`.
    let androidToken: AndroidToken?
    /// `web.endpoint`, `web.p256dh`, `web.auth` and `web.applicationPubKey`.
    let web: WebSubscription?
    /// `web.origin`, otherwise the Origin header.
    let origin: WebOrigin
    /// `user`, beside `ios` and `web`: who uses the device, empty for no user. Said, not proven.
    let owner: RegistrationOwner?
    /// `userToken`: a Firebase custom token for the user.
    let userToken: String?

    /// Decodes a body.
    ///
    /// - Parameters:
    ///   - headers: a page's own request names it by its Origin header.
    ///   - isChange: whether the user alone is enough.
    init(_ body: ObjectReader, headers: HTTPFields, isChange: Bool = false) throws(FCMError) {
        try body.refuseUnknown(except: ["ios", "android", "web", "fcm_sdk_version", "user", "user_token"])
        owner = try Self.owner(body)
        userToken = try body.string("user_token")
        // Checked for its type only: nothing depends on the SDK's version.
        _ = try body.string("fcm_sdk_version")
        let ios = try body.object("ios", type: "TYPE_MESSAGE")
        if let android = try body.object("android", type: "TYPE_MESSAGE") {
            guard ios == nil, try body.object("web", type: "TYPE_MESSAGE") == nil else {
                throw .badRequest("android", "A registration is of one of ios, android and web.")
            }
            try android.refuseUnknown(except: ["fcm_token", "package_name", "app_version"])
            platform = .android
            androidToken = try Self.androidToken(android)
            bundleID = try android.string("package_name")
            appVersion = try Self.appVersion(android, "android")
            (deviceToken, environment, self.web) = (nil, nil, nil)
            origin = WebOrigin(nil, header: nil)
            return
        }
        androidToken = nil
        guard let web = try body.object("web", type: "TYPE_MESSAGE") else {
            guard let ios else {
                if isChange, owner != nil || userToken != nil {
                    (platform, deviceToken, bundleID, environment) = (nil, nil, nil, nil)
                    (appVersion, self.web, origin) = (nil, nil, WebOrigin(nil, header: nil))
                    return
                }
                throw .badRequest("ios", "The app's registration is missing: an object with apns_token and bundle_id.")
            }
            try ios.refuseUnknown(except: ["apns_token", "bundle_id", "apns_environment", "app_version"])
            platform = .apple
            deviceToken = try Self.deviceToken(ios)
            bundleID = try ios.string("bundle_id")
            environment = try Self.environment(ios)
            appVersion = try Self.appVersion(ios, "ios")
            self.web = nil
            origin = WebOrigin(nil, header: nil)
            return
        }
        guard ios == nil else { throw .badRequest("web", "A registration is of ios or web, not of both.") }
        try web.refuseUnknown(
            except: ["origin", "endpoint", "p256dh", "auth", "application_pub_key", "keys", "expiration_time"])
        platform = .web
        // As the SDK writes it, or as the browser does (`PushSubscription.toJSON()`).
        let keys = try web.object("keys", type: "TYPE_MESSAGE")
        try keys?.refuseUnknown(except: ["p256dh", "auth"])
        self.web = try WebSubscription(endpointIn: web, keysIn: keys ?? web)
        (deviceToken, bundleID, environment, appVersion) = (nil, nil, nil, nil)
        origin = WebOrigin(try web.string("origin"), header: headers[.origin])
    }

    /// What the app asks for when it registers; without its user, who has to be proven.
    func request(in project: Project) throws(FCMError) -> RegistrationRequest {
        if platform == .web {
            let app = try origin.app(of: project, field: "web.origin")
            guard let web else { throw .badRequest("web.endpoint", "The endpoint of the push service is missing.") }
            return RegistrationRequest(
                project: project.id, app: app.id, address: .web(try web.taken(by: app, at: "web.")),
                isEnvironmentStated: false, appVersion: appVersion)
        }
        if platform == .android { return try androidRequest(in: project) }
        guard let bundleID else { throw .badRequest("ios.bundle_id", "The bundle id is missing.") }
        let (app, service) = try project.appleApp(bundleID, field: "ios.bundle_id")
        guard let deviceToken else { throw .badRequest("ios.apns_token", "The APNs device token is missing.") }
        return RegistrationRequest(
            project: project.id, app: app.id, address: .apple(deviceToken, environment ?? service.environment),
            isEnvironmentStated: environment != nil, appVersion: appVersion)
    }

    private func androidRequest(in project: Project) throws(FCMError) -> RegistrationRequest {
        guard let bundleID else { throw .badRequest("android.package_name", "The package name is missing.") }
        guard let id = AppID(rawValue: bundleID), let app = project.apps[AppKey(.android, id)] else {
            throw .badRequest("android.package_name", "The project has no Android app with this package name.")
        }
        guard let androidToken else {
            throw .badRequest("android.fcm_token", "The token that Firebase's SDK gave the app is missing.")
        }
        return RegistrationRequest(
            project: project.id, app: app.id, address: .android(androidToken), isEnvironmentStated: false,
            appVersion: appVersion)
    }

    /// What changes about a registration, without its user.
    ///
    /// - Throws: 400 for a subscription that its app does not take.
    func change(of registration: Registration, in project: Project) throws(FCMError) -> RegistrationChange {
        RegistrationChange(address: try addressChange(of: registration, in: project), appVersion: appVersion)
    }

    private func addressChange(of registration: Registration, in project: Project) throws(FCMError) -> AddressChange? {
        if let web {
            // An app that is configured no more has no rules.
            guard let app = project.apps[registration.appKey] else { return .address(.web(web)) }
            return .address(.web(try web.taken(by: app, at: "web.")))
        }
        if let androidToken { return .address(.android(androidToken)) }
        switch (deviceToken, environment) {
        case (let token?, let environment?): return .address(.apple(token, environment))
        case (let token?, nil): return .deviceToken(token)
        case (nil, let environment?): return .environment(environment)
        case (nil, nil): return nil
        }
    }

    /// The field that names the app.
    var appField: String {
        switch platform {
        case .web: "web.origin"
        case .android: "android.package_name"
        case .apple, nil: "ios.bundle_id"
        }
    }

    /// Refuses a change of the app: another app is another registration.
    func check(keepsAppOf registration: Registration, in project: Project) throws(FCMError) {
        guard let platform else { return }
        guard registration.address.platform == platform else {
            throw .badRequest(
                platform == .apple ? "ios" : platform.rawValue,
                "The registration is of another platform and can't be changed to it.")
        }
        guard bundleID == nil || bundleID == registration.app.rawValue else {
            throw .badRequest(
                appField,
                "The \(platform == .android ? "package name" : "bundle id") is not that of the registration and can't be changed."
            )
        }
        guard origin.stated == nil || origin.stated == registration.app.rawValue else {
            throw .badRequest("web.origin", "The origin is not that of the registration and can't be changed.")
        }
    }

    private static func owner(_ body: ObjectReader) throws(FCMError) -> RegistrationOwner? {
        guard let text = try body.string("user") else { return nil }
        guard !text.isEmpty else { return .noUser }
        guard let user = UserID(rawValue: text), user.isVisible else {
            throw .badRequest("user", "The user must be \(UserID.expectation), or empty for no user.")
        }
        return .user(user)
    }

    private static func deviceToken(_ ios: ObjectReader) throws(FCMError) -> DeviceToken? {
        guard let text = try ios.string("apns_token") else { return nil }
        guard let token = DeviceToken(registering: text) else {
            throw .badRequest("ios.apns_token", "The APNs device token must be \(DeviceToken.registeringExpectation).")
        }
        return token
    }

    private static func environment(_ ios: ObjectReader) throws(FCMError) -> PushEnvironment? {
        switch try ios.string("apns_environment") {
        case nil: return nil
        case "PROD": return .production
        case "SANDBOX": return .sandbox
        case .some:
            throw .badRequest("ios.apns_environment", "The APNs environment must be PROD or SANDBOX.")
        }
    }

    private static func androidToken(_ android: ObjectReader) throws(FCMError) -> AndroidToken? {
        guard let text = try android.string("fcm_token") else { return nil }
        guard let token = AndroidToken(rawValue: text) else {
            throw .badRequest(
                "android.fcm_token", "The token must be 1 to 4096 characters of printable ASCII without a blank.")
        }
        return token
    }

    private static func appVersion(_ block: ObjectReader, _ name: String) throws(FCMError) -> String? {
        guard let version = try block.string("app_version") else { return nil }
        guard version.utf8.count <= 255 else {
            throw .badRequest("\(name).app_version", "The app version must not be longer than 255 bytes.")
        }
        guard !version.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .badRequest("\(name).app_version", "The app version must not hold control characters.")
        }
        return version
    }
}
