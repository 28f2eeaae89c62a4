import JSON
import PushModel

extension Platform {
    /// What says beside an app's id on which platform it is: one id may be an app of several. Nothing for Apple's, as
    /// with registrations.
    var members: [JSONValue.Member] {
        switch self {
        case .apple: []
        case .android: [.init("platform", .string("ANDROID"))]
        case .web: [.init("platform", .string("WEB"))]
        }
    }
}

extension Project {
    /// Whether it has an app of a platform that pushes are sent to.
    func reaches(_ platform: Platform) -> Bool {
        apps.values.contains { $0.platform == platform && $0.isServed }
    }

    /// The platforms that something is sent to.
    var servedPlatforms: [Platform] { Platform.allCases.filter(reaches) }
}
