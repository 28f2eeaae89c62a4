/// The value behind a scheme in front of it, as in `Bearer <token>`: the scheme in any case, blanks around the value.
enum SchemeCredential {
    /// The value in `text`; `nil`: it has another scheme.
    ///
    /// - Parameter scheme: in lower case, with what parts it from the value.
    static func value(of scheme: String, in text: some StringProtocol) -> String? {
        guard text.prefix(scheme.count).lowercased() == scheme else { return nil }
        return String(text.dropFirst(scheme.count).trimmingBlanks)
    }
}
