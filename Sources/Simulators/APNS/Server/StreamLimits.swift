/// How streams are limited.
struct StreamLimits: Sendable {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` in the end.
    var limit: Int
    /// Whether it is 1 until a push with a good provider token was answered, as with Apple.
    var beginsWithOne: Bool

    /// What the first SETTINGS frame says.
    var initial: Int { beginsWithOne ? 1 : limit }
}
