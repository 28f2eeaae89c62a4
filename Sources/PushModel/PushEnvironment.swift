/// The two separate worlds of APNs: a device token of one is a BadDeviceToken in the other.
package enum PushEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `api.push.apple.com`: App Store, TestFlight and enterprise builds.
    case production
    /// `api.sandbox.push.apple.com`: development builds.
    case sandbox

    /// The other one of the two.
    package var other: PushEnvironment {
        switch self {
        case .production: .sandbox
        case .sandbox: .production
        }
    }
}
