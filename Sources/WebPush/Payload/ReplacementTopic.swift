import JSON
import PushModel
import Signing

/// The `Topic` of a request (RFC 8030 §5.4): always 32 characters that say nothing of the sender's key. Apple's service
/// reads it as base64url and refuses some lengths; this one every service takes.
enum ReplacementTopic {
    private static let byteCount = 24

    /// The topic for a sender's key, different for each app.
    static func text(for key: String, app: AppID) -> String {
        Base64URL.text(Digest.sha256(Array("\(app.rawValue)\u{0}\(key)".utf8)).prefix(byteCount))
    }
}
