public import Foundation

/// Where the gateway is and which app asks: all that differs between an app on Firebase's SDK and one on HeraldMessaging.
public struct HeraldOptions: Hashable, Sendable {
    /// The gateway's API, as `https://push.example.com`; its path, if any, stands before `/v1`.
    public var baseURL: URL
    /// The project's id.
    public var project: String
    /// An API key of the project with the role `client`.
    public var clientKey: String
    /// The app's id in the project: its bundle id; by default that of the app, also in an extension of it.
    public var appID: String
    /// The project's number; ``Messaging/retrieveFCMToken(forSenderID:)`` knows no other sender.
    public var senderID: String?
    /// APNs' environment, where it is not to be found in the app's provisioning profile.
    public var environment: MessagingAPNSTokenType
    /// The app group that app and service extension share: with one the extension sends receipts by itself.
    public var appGroup: String?
    /// The app's version. Another one than at the last registration has the app register again.
    public var appVersion: String
    /// Whether the app registers as soon as it can, see ``Messaging/isAutoInitEnabled``.
    public var isAutoInitEnabled: Bool
    /// Whether messages are acknowledged, see ``Messaging/isReceiptReportingEnabled``.
    public var isReceiptReportingEnabled: Bool
    /// Whether the delegate hears of installation ids instead of tokens, see ``Messaging/isInstallationIdEnabled``.
    public var isInstallationIdEnabled: Bool

    /// Puts options together.
    public init(
        baseURL: URL, project: String, clientKey: String, appID: String? = nil, senderID: String? = nil,
        environment: MessagingAPNSTokenType = .unknown, appGroup: String? = nil, appVersion: String? = nil,
        isAutoInitEnabled: Bool = true, isReceiptReportingEnabled: Bool = true, isInstallationIdEnabled: Bool = false
    ) {
        self.baseURL = baseURL
        self.project = project
        self.clientKey = clientKey
        self.appID = appID ?? Self.appID(of: .main)
        self.senderID = senderID
        self.environment = environment
        self.appGroup = appGroup
        self.appVersion = appVersion ?? Self.version(in: Bundle.main.infoDictionary)
        self.isAutoInitEnabled = isAutoInitEnabled
        self.isReceiptReportingEnabled = isReceiptReportingEnabled
        self.isInstallationIdEnabled = isInstallationIdEnabled
    }

    /// Reads options from a property list with `BaseURL`, `Project` and `ClientKey`, and optionally `AppID`, `SenderID`,
    /// `Environment` (`sandbox` or `production`), `AppGroup`, `AutoInitEnabled`, `ReceiptReportingEnabled` and
    /// `InstallationIdEnabled`; `nil` without the first three, or with a value of another type.
    public init?(propertyList: [String: Any]?) {
        // A dictionary of other things than a property list has says nothing.
        guard let propertyList,
            let data = try? PropertyListSerialization.data(fromPropertyList: propertyList, format: .binary, options: 0)
        else { return nil }
        self.init(data)
    }

    /// Reads options from a file; `nil`: it can't be read, or lacks what must be there.
    public init?(contentsOfFile file: String) {
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        self.init(data)
    }

    private init?(_ data: Data) {
        // What can't be read has no options in it: that is the question here.
        guard let list = try? PropertyListDecoder().decode(PropertyList.self, from: data),
            let url = URL(string: list.baseURL), url.host() != nil
        else { return nil }
        self.init(
            baseURL: url, project: list.project, clientKey: list.clientKey, appID: list.appID,
            senderID: list.senderID, environment: MessagingAPNSTokenType(name: list.environment),
            appGroup: list.appGroup, isAutoInitEnabled: list.isAutoInitEnabled ?? true,
            isReceiptReportingEnabled: list.isReceiptReportingEnabled ?? true,
            isInstallationIdEnabled: list.isInstallationIdEnabled ?? false)
    }

    private struct PropertyList: Decodable {
        let baseURL: String
        let project: String
        let clientKey: String
        let appID: String?
        let senderID: String?
        let environment: String?
        let appGroup: String?
        let isAutoInitEnabled: Bool?
        let isReceiptReportingEnabled: Bool?
        let isInstallationIdEnabled: Bool?

        enum CodingKeys: String, CodingKey {
            case baseURL = "BaseURL"
            case project = "Project"
            case clientKey = "ClientKey"
            case appID = "AppID"
            case senderID = "SenderID"
            case environment = "Environment"
            case appGroup = "AppGroup"
            case isAutoInitEnabled = "AutoInitEnabled"
            case isReceiptReportingEnabled = "ReceiptReportingEnabled"
            case isInstallationIdEnabled = "InstallationIdEnabled"
        }
    }

    /// The options of `Herald-Info.plist` in the app, or of the dictionary `Herald` of its Info.plist.
    public static func defaultOptions() -> HeraldOptions? {
        Bundle.main.path(forResource: "Herald-Info", ofType: "plist").flatMap(HeraldOptions.init(contentsOfFile:))
            ?? HeraldOptions(propertyList: Bundle.main.infoDictionary?["Herald"] as? [String: Any])
    }

    /// The id of the app that a bundle is, or is an extension of.
    private static func appID(of bundle: Bundle) -> String {
        appID(of: bundle.bundleURL, identifier: bundle.bundleIdentifier) { Bundle(url: $0)?.bundleIdentifier }
    }

    /// The same, by where it is. An extension, `….appex`, lies in its app, `….app`; where that can't be looked at, its id is
    /// the app's with a further part.
    static func appID(of url: URL, identifier: String?, identifierOf: (URL) -> String?) -> String {
        guard url.pathExtension == "appex" else { return identifier ?? "" }
        var app = url
        while app.pathExtension != "app", app.pathComponents.count > 1 { app.deleteLastPathComponent() }
        if app.pathExtension == "app", let found = identifierOf(app) { return found }
        return identifier?.split(separator: ".").dropLast().joined(separator: ".") ?? ""
    }

    /// `1.2.3 (45)`, or as much of it as there is.
    static func version(in information: [String: Any]?) -> String {
        let version = information?["CFBundleShortVersionString"] as? String ?? ""
        guard let build = information?["CFBundleVersion"] as? String else { return version }
        return version.isEmpty ? build : "\(version) (\(build))"
    }
}
