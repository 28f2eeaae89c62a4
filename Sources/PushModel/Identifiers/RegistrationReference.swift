/// How callers name one registration: FCM takes a FID wherever it takes a token.
package enum RegistrationReference: Hashable, Sendable {
    /// By its FID.
    case id(RegistrationID)
    /// By its token.
    case token(RegistrationToken)

    /// Reads what stands in a `token` field or in a path; `nil` when it has neither form (FCM: 400
    /// INVALID_ARGUMENT, while a well-formed name of nothing is 404 UNREGISTERED).
    package init?(rawValue: String) {
        if let id = RegistrationID(rawValue: rawValue) {
            self = .id(id)
        } else if let token = RegistrationToken(rawValue: rawValue) {
            self = .token(token)
        } else {
            return nil
        }
    }
}
