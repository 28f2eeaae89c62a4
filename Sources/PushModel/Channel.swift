/// By which way of which push service a device is reached. One address has one.
package enum Channel: Hashable, Sendable {
    /// Apple's push service, in the environment that issued the device token.
    case apns(PushEnvironment)
    /// Google's push service, for Android.
    case fcm
    /// The push service of a browser.
    case webPush
    /// Apple's push service for broadcasts: one request reaches all that subscribe to a channel.
    case broadcast(PushEnvironment)

    /// All channels.
    package static let all: [Channel] = [
        .apns(.production), .apns(.sandbox), .fcm, .webPush, .broadcast(.production), .broadcast(.sandbox),
    ]

    /// The platform of the apps that are reached by it.
    package var platform: Platform {
        switch self {
        case .apns, .broadcast: .apple
        case .fcm: .android
        case .webPush: .web
        }
    }

    /// The environment, of a service that has two.
    package var environment: PushEnvironment? {
        switch self {
        case .apns(let environment), .broadcast(let environment): environment
        case .fcm, .webPush: nil
        }
    }

    /// Whether it leads to devices, one push each.
    package var isOfDevices: Bool {
        if case .broadcast = self { false } else { true }
    }

    /// The channel of the same service in its other environment, where the same address may be known; `nil`: it has none.
    package var other: Channel? {
        switch self {
        case .apns(let environment): .apns(environment.other)
        case .fcm, .webPush, .broadcast: nil
        }
    }
}

extension Channel: CustomStringConvertible {
    /// For log lines and operators: `production`, `sandbox`, `fcm`, `webPush`, `broadcasts production` or `broadcasts sandbox`.
    package var description: String {
        switch self {
        case .apns(let environment): environment.rawValue
        case .fcm: "fcm"
        case .webPush: "webPush"
        case .broadcast(let environment): "broadcasts \(environment.rawValue)"
        }
    }
}
