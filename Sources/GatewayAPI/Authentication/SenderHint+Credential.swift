import HTTPTypes
import HummingbirdCore
import PushModel

extension SenderHint {
    /// For a request whose credential can't be read: the word in front of it may be missing.
    static func credential(in headers: HTTPFields) -> String? {
        guard let text = headers[.authorization].map({ String($0.trimmingBlanks) }) else { return nil }
        guard APIKey.id(in: text) != nil || AccessToken.isToken(text) || Assertion.isAssertion(text) else { return nil }
        return "The Authorization header holds a credential alone: write Bearer and a blank in front of it."
    }

    /// For an API key that is unknown: one of Google's can't be known here.
    static func key(_ text: String) -> String? {
        let kind: String
        if text.hasPrefix("AIza") {
            kind = "an API key"
        } else if text.hasPrefix("ya29.") {
            kind = "an access token"
        } else if text.contains(":APA91b") {
            kind = "a server key of the legacy API"
        } else {
            return nil
        }
        return "This looks like \(kind) of Google's, which works at Google only. Use a key of this gateway "
            + "(herald key create) or a service account of it (herald service-account create)."
    }

    /// For a JWT that was not signed by an account of this gateway.
    static func issuer(_ issuer: String?) -> String? {
        guard issuer?.hasSuffix(".gserviceaccount.com") == true else { return nil }
        return "The JWT is signed by a service account of Google's, which works at Google only. Use the file of a "
            + "service account of this gateway (herald service-account create)."
    }
}
