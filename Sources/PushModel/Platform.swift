/// By what an app is reached.
package enum Platform: String, Hashable, Sendable, CaseIterable {
    /// Apple's push service.
    case apple
    /// Google's push service, for Android.
    case android
    /// The push service of a browser.
    case web
}
