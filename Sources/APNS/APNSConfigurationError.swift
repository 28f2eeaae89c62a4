public import PushModel

/// A configuration that can't be used.
public struct APNSConfigurationError: Error, Sendable {
    /// The app it concerns.
    public let app: AppID
    /// The field of the app's `apns` block, such as `trust`.
    public let field: String
    /// What is wrong, in words.
    public let message: String

    /// Describes an error.
    public init(app: AppID, field: String, message: String) {
        self.app = app
        self.field = field
        self.message = message
    }
}
