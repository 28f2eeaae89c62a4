import HTTPTypes
import PushModel
import Store

/// The body of a registration request, as Firebase's iOS and web SDKs send it (fcm.md §7.2).
struct RegistrationBody: Sendable {
    /// Which of the two it has: `ios` or `web`; `nil`: a change of the user alone.
    let platform: Platform?
    /// `ios.apns_token`.
    let deviceToken: DeviceToken?
    /// `ios.bundle_id`.
    let bundleID: String?
    /// `ios.apns_environment`.
    let environment: PushEnvironment?
    /// `ios.app_version`.
    let appVersion: String?
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
        try body.refuseUnknown(except: ["ios", "web", "fcm_sdk_version", "user", "user_token"])
        owner = try Self.owner(body)
        userToken = try body.string("user_token")
        // Checked for its type only: nothing depends on the SDK's version.
        _ = try body.string("fcm_sdk_version")
        let ios = try body.object("ios", type: "TYPE_MESSAGE")
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
            appVersion = try Self.appVersion(ios)
            self.web = nil
            origin = WebOrigin(nil, header: nil)
            return
        }
        guard ios == nil else { throw .badRequest("web", "A registration is of ios or web, not of both.") }
        try web.refuseUnknown(except: ["origin", "endpoint", "p256dh", "auth", "application_pub_key"])
        platform = .web
        self.web = try WebSubscription(endpointIn: web, keysIn: web)
        (deviceToken, bundleID, environment, appVersion) = (nil, nil, nil, nil)
        origin = WebOrigin(try web.string("origin"), header: headers[.origin])
    }

    /// What the app asks for when it registers; without its user, who has to be proven.
    func request(in project: Project) throws(FCMError) -> RegistrationRequest {
        if platform == .web {
            let app = try origin.app(of: project, field: "web.origin")
            guard let web else { throw .badRequest("web.endpoint", "The endpoint of the push service is missing.") }
            return RegistrationRequest(
                project: project.id, app: app.id, address: .web(web), isEnvironmentStated: false,
                appVersion: appVersion)
        }
        guard let bundleID else { throw .badRequest("ios.bundle_id", "The bundle id is missing.") }
        let (app, service) = try project.appleApp(bundleID, field: "ios.bundle_id")
        guard let deviceToken else { throw .badRequest("ios.apns_token", "The APNs device token is missing.") }
        return RegistrationRequest(
            project: project.id, app: app.id, address: .apple(deviceToken, environment ?? service.environment),
            isEnvironmentStated: environment != nil, appVersion: appVersion)
    }

    /// What the app changes, without its user.
    var change: RegistrationChange { RegistrationChange(address: addressChange, appVersion: appVersion) }

    private var addressChange: AddressChange? {
        if let web { return .address(.web(web)) }
        switch (deviceToken, environment) {
        case (let token?, let environment?): return .address(.apple(token, environment))
        case (let token?, nil): return .deviceToken(token)
        case (nil, let environment?): return .environment(environment)
        case (nil, nil): return nil
        }
    }

    /// The field that names the app.
    var appField: String { platform == .web ? "web.origin" : "ios.bundle_id" }

    /// Refuses a change of the app: another app is another registration.
    func check(keepsAppOf registration: Registration, in project: Project) throws(FCMError) {
        guard let platform else { return }
        guard registration.address.platform == platform else {
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

    private static func appVersion(_ ios: ObjectReader) throws(FCMError) -> String? {
        guard let version = try ios.string("app_version") else { return nil }
        guard version.utf8.count <= 255 else {
            throw .badRequest("ios.app_version", "The app version must not be longer than 255 bytes.")
        }
        guard !version.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .badRequest("ios.app_version", "The app version must not hold control characters.")
        }
        return version
    }
}
