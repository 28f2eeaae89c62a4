public import Foundation

/// The environment of APNs that a device token is of.
public enum MessagingAPNSTokenType: Int, Hashable, Sendable, Codable {
    /// To be found out, see ``detected(inProfile:)``.
    case unknown
    /// That of apps which Xcode installs.
    case sandbox
    /// That of the App Store, TestFlight and ad hoc builds.
    case prod

    /// The environment of a word: `sandbox` or `development`, `production` or `prod`.
    init(name: String?) {
        switch name?.lowercased() {
        case "sandbox", "development": self = .sandbox
        case "production", "prod": self = .prod
        default: self = .unknown
        }
    }

    /// What the gateway calls it; `nil`: the environment that the project file says.
    var wire: String? {
        switch self {
        case .unknown: nil
        case .sandbox: "SANDBOX"
        case .prod: "PROD"
        }
    }

    /// The environment of a build by its provisioning profile. A build without one is from the App Store, except in a
    /// simulator.
    ///
    /// - Parameter profile: the profile as it lies in the app; `nil`: there is none.
    public static func detected(inProfile profile: Data?) -> MessagingAPNSTokenType {
        #if targetEnvironment(simulator)
            return .sandbox
        #else
            guard let profile else { return .prod }
            return environment(ofProfile: profile)
        #endif
    }

    /// What this app's profile says; without one production.
    static var detected: MessagingAPNSTokenType {
        let bundle = Bundle.main.bundleURL
        let files = ["embedded.mobileprovision", "Contents/embedded.provisionprofile"]
        return detected(
            inProfile: files.lazy.compactMap { FileManager.default.contents(atPath: bundle.appending(path: $0).path) }
                .first)
    }

    /// A profile is a property list with a signature around it. One that can't be read says nothing.
    private static func environment(ofProfile profile: Data) -> MessagingAPNSTokenType {
        guard let start = profile.range(of: Data("<?xml".utf8)),
            let end = profile.range(of: Data("</plist>".utf8), in: start.lowerBound..<profile.endIndex),
            let list = try? PropertyListDecoder().decode(
                Profile.self, from: profile[start.lowerBound..<end.upperBound])
        else { return .unknown }
        return MessagingAPNSTokenType(name: list.entitlements.iOS ?? list.entitlements.macOS)
    }

    private struct Profile: Decodable {
        struct Entitlements: Decodable {
            let iOS: String?
            let macOS: String?

            enum CodingKeys: String, CodingKey {
                case iOS = "aps-environment"
                case macOS = "com.apple.developer.aps-environment"
            }
        }

        let entitlements: Entitlements

        enum CodingKeys: String, CodingKey {
            case entitlements = "Entitlements"
        }
    }
}
