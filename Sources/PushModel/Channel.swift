/// By which way of which push service a device is reached. One address has one.
package enum Channel: Hashable, Sendable {
    /// Apple's push service, in the environment that issued the device token.
    case apns(PushEnvironment)
    /// Google's push service, for Android.
    case fcm
    /// The push service of a browser.
    case webPush

    /// All channels.
    package static let all: [Channel] = [.apns(.production), .apns(.sandbox), .fcm, .webPush]

    /// The platform of the apps that are reached by it.
    package var platform: Platform {
        switch self {
        case .apns: .apple
        case .fcm: .android
        case .webPush: .web
        }
    }

    /// The environment, of a service that has two.
    package var environment: PushEnvironment? {
        switch self {
        case .apns(let environment): environment
        case .fcm, .webPush: nil
        }
    }

    /// The channel of the same service in its other environment; `nil`: it has none.
    package var other: Channel? {
        switch self {
        case .apns(let environment): .apns(environment.other)
        case .fcm, .webPush: nil
        }
    }
}

extension Channel: CustomStringConvertible {
    /// For log lines and operators: `production`, `sandbox`, `fcm` or `webPush`.
    package var description: String {
        switch self {
        case .apns(let environment): environment.rawValue
        case .fcm: "fcm"
        case .webPush: "webPush"
        }
    }
}
