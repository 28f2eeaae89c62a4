package import PushModel

/// What most tests ask of an address: they are about Apple devices.
extension Address {
    /// The device token.
    package var token: DeviceToken {
        get {
            guard let deviceToken else { preconditionFailure("not the address of an Apple device") }
            return deviceToken
        }
        set { self = .apple(newValue, environment) }
    }

    /// The environment of the device token.
    package var environment: PushEnvironment {
        get {
            guard let environment = channel.environment else {
                preconditionFailure("not the address of an Apple device")
            }
            return environment
        }
        set { self = .apple(token, newValue) }
    }
}

extension Registration {
    /// The device token of an Apple device.
    package var deviceToken: DeviceToken {
        get { address.token }
        set { address.token = newValue }
    }

    /// The environment of ``deviceToken``.
    package var environment: PushEnvironment {
        get { address.environment }
        set { address.environment = newValue }
    }
}

extension DeliveryRegistration {
    /// The device token of an Apple device.
    package var deviceToken: DeviceToken { address.token }

    /// The environment of ``deviceToken``.
    package var environment: PushEnvironment { address.environment }
}

extension Push {
    /// The device token of an Apple device.
    package var deviceToken: DeviceToken { address.token }
}
