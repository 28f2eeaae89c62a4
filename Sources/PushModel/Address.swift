/// Where a push service finds one app install: all that a push needs to arrive there. A secret: it never goes into a log.
///
/// A broadcast copies it for each of a million recipients, so what is large stands behind a reference.
package enum Address: Hashable, Sendable {
    /// The token that Apple's push service gave the app, and the environment that issued it.
    case apple(DeviceToken, PushEnvironment)
    /// The token that Google's push service gave the app.
    case android(AndroidToken)
    /// A token of Google's push service that a sender named and Google took: on which platform the app runs, only Google
    /// knows.
    case relayed(AndroidToken)
    /// The subscription of a browser.
    indirect case web(WebSubscription)
    /// A broadcast channel of Apple's push service: no device, but all that subscribe.
    indirect case broadcast(BroadcastAddress)

    /// By which way it is reached.
    package var channel: Channel {
        switch self {
        case .apple(_, let environment): .apns(environment)
        case .android, .relayed: .fcm
        case .web: .webPush
        case .broadcast(let address): .broadcast(address.environment)
        }
    }

    /// The platform of the apps that have such addresses; of a relayed token that of the app that relays.
    package var platform: Platform {
        switch self {
        case .apple, .broadcast: .apple
        case .android, .relayed: .android
        case .web: .web
        }
    }

    /// What no two active registrations of an app have in common: device token, token or endpoint; of a channel its id behind
    /// its policy. The environment is none of it, nor are a browser's keys, nor who named a token.
    package var identity: [UInt8] {
        switch self {
        case .apple(let token, _): token.bytes
        case .android(let token), .relayed(let token): Array(token.rawValue.utf8)
        case .web(let subscription): Array(subscription.endpoint.utf8)
        case .broadcast(let address): [address.storagePolicy == .none ? 0 : 1] + address.id.rawValue.utf8
        }
    }

    /// The device token, of an Apple device.
    package var deviceToken: DeviceToken? {
        guard case .apple(let token, _) = self else { return nil }
        return token
    }

    /// The token of Google's push service.
    package var androidToken: AndroidToken? {
        switch self {
        case .android(let token), .relayed(let token): token
        case .apple, .web, .broadcast: nil
        }
    }

    /// Whether only Google knows the platform behind it.
    package var isRelayed: Bool {
        if case .relayed = self { true } else { false }
    }

    /// The subscription, of a browser.
    package var webSubscription: WebSubscription? {
        guard case .web(let subscription) = self else { return nil }
        return subscription
    }

    /// The same address on another channel of its service; itself when the channel is of another one.
    package func on(_ channel: Channel) -> Address {
        guard case .apple(let token, _) = self, case .apns(let environment) = channel else { return self }
        return .apple(token, environment)
    }
}

/// What changes about an address.
package enum AddressChange: Hashable, Sendable {
    /// Another address, or the same with other keys.
    case address(Address)
    /// Another device token; the environment stays.
    case deviceToken(DeviceToken)
    /// Another environment; the device token stays.
    case environment(PushEnvironment)

    /// What becomes of `address`; one of another platform than the change stays as it is.
    package func applied(to address: Address) -> Address {
        switch (self, address) {
        case (.address(let next), _): next
        case (.deviceToken(let token), .apple(_, let environment)): .apple(token, environment)
        case (.environment(let environment), .apple(let token, _)): .apple(token, environment)
        case (.deviceToken, .android), (.deviceToken, .relayed), (.deviceToken, .web), (.deviceToken, .broadcast),
            (.environment, .android), (.environment, .relayed), (.environment, .web), (.environment, .broadcast):
            address
        }
    }
}
