public import Foundation

/// What an app says of its device, for the gateway to find the click that led to an install.
public struct DynamicLinkDevice: Hashable, Sendable {
    /// The model, as `iPhone14,5`; empty: unknown.
    public var modelName: String
    /// The locale's identifier, as `en_US`.
    public var language: String
    /// What a web view's `navigator.language` says, as `en-US`: the one that the browser showed too; empty: unknown.
    public var browserLanguage: String
    /// The screen's width in points; 0: unknown.
    public var screenWidth: Int
    /// The screen's height in points; 0: unknown.
    public var screenHeight: Int
    /// The time zone, as `Europe/Lisbon`.
    public var timeZone: String
    /// The version of the system, as `17.5.1`.
    public var systemVersion: String
    /// When the app was installed: it bounds the clicks that are looked at.
    public var installationTime: Date?

    /// Puts a description together; what is left out is taken from this process.
    public init(
        modelName: String = "", screenWidth: Int = 0, screenHeight: Int = 0, browserLanguage: String = "",
        language: String = Locale.current.identifier, timeZone: String = TimeZone.current.identifier,
        systemVersion: String = DynamicLinkDevice.currentSystemVersion,
        installationTime: Date? = DynamicLinkDevice.currentInstallationTime
    ) {
        self.modelName = modelName
        self.language = language
        self.browserLanguage = browserLanguage
        self.screenWidth = screenWidth
        self.screenHeight = screenHeight
        self.timeZone = timeZone
        self.systemVersion = systemVersion
        self.installationTime = installationTime
    }

    /// The version of this system: two numbers, and a third that is not 0.
    public static var currentSystemVersion: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        let patch = version.patchVersion == 0 ? "" : ".\(version.patchVersion)"
        return "\(version.majorVersion).\(version.minorVersion)\(patch)"
    }

    /// When the app's directory Application Support was made, which is at its first launch.
    public static var currentInstallationTime: Date? {
        let directories = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        // Without the directory or its date the time is unknown, and the field is left out.
        guard let path = directories.first?.path,
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        else { return nil }
        return attributes[.creationDate] as? Date
    }
}
