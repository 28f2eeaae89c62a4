import Foundation

/// The body of `shortLinks`.
struct ShortenRequest: Encodable {
    let longDynamicLink: String
    let suffix: Suffix?

    struct Suffix: Encodable {
        let option: String
    }

    init(longDynamicLink: String, pathLength: ShortDynamicLinkPathLength) {
        self.longDynamicLink = longDynamicLink
        switch pathLength {
        case .default: suffix = nil
        case .short: suffix = Suffix(option: "SHORT")
        case .unguessable: suffix = Suffix(option: "UNGUESSABLE")
        }
    }
}

/// The body of `reopenAttribution`: camel and snake case mixed, as Firebase's SDK for iOS sends it.
struct ReopenRequest: Encodable {
    let requestedLink: String
    let bundleID: String?
    let sdkVersion = DynamicLinks.sdkVersion

    enum CodingKeys: String, CodingKey {
        case requestedLink
        case bundleID = "bundle_id"
        case sdkVersion = "sdk_version"
    }
}

/// The body of `installAttribution`.
struct InstallRequest: Encodable {
    let bundleId: String?
    let device: Device
    let iosVersion: String
    let sdkVersion = DynamicLinks.sdkVersion
    /// Whole seconds since 1970.
    let appInstallationTime: Int?
    /// The link out of the clipboard, its mark stripped.
    let uniqueMatchLinkToCheck: String?
    /// Unknown.
    let visualStyle = 0
    /// By itself, at the first launch.
    let retrievalMethod = 1

    struct Device: Encodable {
        let deviceModelName: String
        let languageCode: String
        let languageCodeRaw: String
        let languageCodeFromWebview: String
        let screenResolutionWidth: Int
        let screenResolutionHeight: Int
        let timezone: String
    }

    init(bundleID: String?, device: DynamicLinkDevice, uniqueMatchLink: URL?) {
        bundleId = bundleID
        self.device = Device(
            deviceModelName: device.modelName,
            languageCode: device.language.replacing("_", with: "-"),
            languageCodeRaw: device.language,
            languageCodeFromWebview: device.browserLanguage,
            screenResolutionWidth: device.screenWidth,
            screenResolutionHeight: device.screenHeight,
            timezone: device.timeZone)
        iosVersion = device.systemVersion
        appInstallationTime = device.installationTime.map { Int($0.timeIntervalSince1970) }
        uniqueMatchLinkToCheck = uniqueMatchLink?.absoluteString
    }
}
