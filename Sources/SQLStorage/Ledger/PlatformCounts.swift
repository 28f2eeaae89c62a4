import PushModel

/// A count for each platform.
struct PlatformCounts: Hashable, Sendable {
    private var apple = 0
    private var android = 0
    private var web = 0

    subscript(platform: Platform) -> Int {
        get {
            switch platform {
            case .apple: apple
            case .android: android
            case .web: web
            }
        }
        set {
            switch platform {
            case .apple: apple = newValue
            case .android: android = newValue
            case .web: web = newValue
            }
        }
    }
}
