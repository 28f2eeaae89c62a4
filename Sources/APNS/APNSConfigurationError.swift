package import PushModel

/// A configuration that can't be used.
package struct APNSConfigurationError: Error, Sendable {
    /// The app it concerns.
    package let app: AppID
    /// The field of the app's `apns` block, such as `trust`.
    package let field: String
    /// What is wrong, in words.
    package let message: String

    /// Describes an error.
    package init(app: AppID, field: String, message: String) {
        self.app = app
        self.field = field
        self.message = message
    }
}
